/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A fuzzing target for user space, libFuzzer's */
#ifndef FUZZ_HOST_H
#define FUZZ_HOST_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);


#endif /* FUZZ_HOST_H */
