#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/*
 * What libFuzzer calls with each input. replay.c calls it with the files of a
 * corpus, which is what the fuzz suite does. To search for new inputs, compile a
 * target and what it tests with clang -fsanitize=fuzzer,address,undefined instead.
 */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif
