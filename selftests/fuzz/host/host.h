/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A fuzzing target for user space: libFuzzer's, or driver.c's. */
#ifndef FUZZ_HOST_H
#define FUZZ_HOST_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* words.c: what is worth inserting; ends with NULL. */
extern const char *const fuzz_words[];

#endif /* FUZZ_HOST_H */
