// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A driver for a libFuzzer target where there is no clang: [-s SEED] [-n INPUTS]
 * Inputs are made of the target's own words and of earlier inputs. The
 * sanitizers end the program at the first mistake; the seed and the number of
 * the input are told then.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host.h"

#define INPUT_MAX	2048
#define KEPT		64

static uint64_t state;
static unsigned long seed = 1, inputs = 200000, done;
static struct {
	uint8_t data[INPUT_MAX];
	size_t size;
} kept[KEPT];

static uint32_t next(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 33;
}

static uint32_t below(uint32_t n)
{
	return next() % n;
}

/* Room for @len bytes at @at; fewer if it does not fit. */
static size_t insert(uint8_t *data, size_t *size, size_t at, size_t len)
{
	if (len > INPUT_MAX - *size)
		len = INPUT_MAX - *size;
	memmove(data + at + len, data + at, *size - at);
	*size += len;
	return len;
}

static void mutate(uint8_t *data, size_t *size)
{
	size_t at = below(*size + 1), len = 1 + below(16), n = 0;
	const char *word;

	switch (below(7)) {
	case 0:
		if (at < *size)
			data[at] ^= 1 << below(8);
		break;
	case 1:
		if (at < *size)
			data[at] = next();
		break;
	case 2:
		while (fuzz_words[n])
			n++;
		word = fuzz_words[below(n)];
		len = insert(data, size, at, strlen(word));
		memcpy(data + at, word, len);
		break;
	case 3:
		len = insert(data, size, at, len);
		memset(data + at, below(2) ? next() : 0, len);
		break;
	case 4:
		if (len > *size - at)
			len = *size - at;
		memmove(data + at, data + at + len, *size - at - len);
		*size -= len;
		break;
	case 5:
		n = below(KEPT);
		len = insert(data, size, at, below(kept[n].size + 1));
		memcpy(data + at, kept[n].data, len);
		break;
	default:
		if (!below(8))
			*size = at;
	}
}

/* By the sanitizers, abort(), or an input that takes too long */
static void tell(void)
{
	fprintf(stderr, "# input %lu of seed %lu\n", done, seed);
}

void __asan_on_error(void);
void __asan_on_error(void)
{
	tell();
}

int main(int argc, char **argv)
{
	static uint8_t data[INPUT_MAX];
	size_t size, n;
	uint8_t *copy;
	int c;

	while ((c = getopt(argc, argv, "s:n:")) != -1) {
		if (c == 's')
			seed = strtoul(optarg, NULL, 0);
		else if (c == 'n')
			inputs = strtoul(optarg, NULL, 0);
		else
			return 2;
	}
	state = seed;
	for (done = 0; done < inputs; done++) {
		if (done % 1024 == 0)
			alarm(60);
		n = below(KEPT);
		size = below(8) ? kept[n].size : 0;
		memcpy(data, kept[n].data, size);
		for (n = 1 + below(6); n; n--)
			mutate(data, &size);
		/* Of exactly that size, for the sanitizer to see its end */
		copy = malloc(size + !size);
		if (!copy)
			return 1;
		memcpy(copy, data, size);
		LLVMFuzzerTestOneInput(copy, size);
		free(copy);
		if (!below(4)) {
			n = below(KEPT);
			memcpy(kept[n].data, data, size);
			kept[n].size = size;
		}
	}
	printf("# seed %lu, %lu inputs\n", seed, done);
	return 0;
}
