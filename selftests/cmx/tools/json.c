// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Is each line of standard input one JSON text (RFC 8259)? Exit code 0 if so
 * and there is at least one line. The program stores no values.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *at;

static bool value(unsigned int depth);

static void space(void)
{
	at += strspn(at, " \t\r");
}

static bool take(char c)
{
	space();
	if (*at != c)
		return false;
	at++;
	return true;
}

static bool string(void)
{
	if (!take('"'))
		return false;
	for (; *at && *at != '"'; at++) {
		if ((unsigned char)*at < 0x20)
			return false;
		if (*at != '\\')
			continue;
		at++;
		if (*at == 'u') {
			if (strspn(at + 1, "0123456789abcdefABCDEF") < 4)
				return false;
			at += 4;
		} else if (!*at || !strchr("\"\\/bfnrt", *at)) {
			return false;
		}
	}
	return take('"');
}

static bool digits(void)
{
	size_t count = strspn(at, "0123456789");

	at += count;
	return count;
}

static bool number(void)
{
	if (*at == '-')
		at++;
	if (*at == '0')
		at++;
	else if (!digits())
		return false;
	if (*at == '.' && (at++, !digits()))
		return false;
	if (*at != 'e' && *at != 'E')
		return true;
	at++;
	if (*at == '+' || *at == '-')
		at++;
	return digits();
}

static bool word(const char *text)
{
	if (strncmp(at, text, strlen(text)))
		return false;
	at += strlen(text);
	return true;
}

static bool list(char end, unsigned int depth)
{
	at++;
	if (take(end))
		return true;
	do {
		if (end == '}' && (!string() || !take(':')))
			return false;
		if (!value(depth + 1))
			return false;
	} while (take(','));
	return take(end);
}

static bool value(unsigned int depth)
{
	if (depth > 100)
		return false;
	space();
	switch (*at) {
	case '{':
		return list('}', depth);
	case '[':
		return list(']', depth);
	case '"':
		return string();
	case 't':
		return word("true");
	case 'f':
		return word("false");
	case 'n':
		return word("null");
	default:
		return number();
	}
}

int main(void)
{
	static char line[65536];
	unsigned int lines = 0;

	while (fgets(line, sizeof(line), stdin)) {
		lines++;
		line[strcspn(line, "\n")] = '\0';
		at = line;
		if (!value(0) || (space(), *at)) {
			printf("line %u, byte %zu: not JSON: %s\n", lines,
			       (size_t)(at - line), line);
			return 1;
		}
	}
	if (!lines)
		puts("nothing to read");
	return !lines;
}
