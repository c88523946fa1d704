// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Events in the order of their time: a binary heap. No locks. */
#include <stdio.h>
#include <stdlib.h>

#include "simulate.h"

void *sim_alloc(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);

	if (!memory) {
		fprintf(stderr, "simulate: no memory for %zu * %zu bytes\n",
			count, size);
		exit(2);
	}
	return memory;
}

static bool event_before(const struct sim_event *a, const struct sim_event *b)
{
	return a->time < b->time ||
	       (a->time == b->time && a->order < b->order);
}

static void heap_grow(struct sim_heap *heap)
{
	struct sim_event *events;
	size_t i, room = heap->room ? 2 * heap->room : 1024;

	events = sim_alloc(room, sizeof(*events));
	for (i = 0; i < heap->count; i++)
		events[i] = heap->events[i];
	free(heap->events);
	heap->events = events;
	heap->room = room;
}

void heap_add(struct sim_heap *heap, sim_time time, uint32_t type,
	      uint32_t arg)
{
	struct sim_event event = {
		.time = time,
		.order = heap->order++,
		.type = type,
		.arg = arg,
	};
	size_t i, up;

	if (heap->count == heap->room)
		heap_grow(heap);
	for (i = heap->count++; i; i = up) {
		up = (i - 1) / 2;
		if (!event_before(&event, &heap->events[up]))
			break;
		heap->events[i] = heap->events[up];
	}
	heap->events[i] = event;
}

/* The earliest one; false if there is none. */
bool heap_take(struct sim_heap *heap, struct sim_event *event)
{
	struct sim_event last;
	size_t i, down;

	if (!heap->count)
		return false;
	*event = heap->events[0];
	last = heap->events[--heap->count];
	for (i = 0; (down = 2 * i + 1) < heap->count; i = down) {
		if (down + 1 < heap->count &&
		    event_before(&heap->events[down + 1], &heap->events[down]))
			down++;
		if (!event_before(&heap->events[down], &last))
			break;
		heap->events[i] = heap->events[down];
	}
	heap->events[i] = last;
	return true;
}

void heap_free(struct sim_heap *heap)
{
	free(heap->events);
	*heap = (struct sim_heap) {};
}

/* A linear congruential generator, whose upper bits are good enough here. */
uint64_t sim_random(uint64_t *state, uint64_t n)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return n ? (*state >> 11) % n : 0;
}
