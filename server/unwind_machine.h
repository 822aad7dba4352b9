#ifndef SERVER_UNWIND_MACHINE_H
#define SERVER_UNWIND_MACHINE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * What the unwinder knows of the machine:
 *
 *	UNWIND_FP, UNWIND_SP, UNWIND_LINK   the numbers that unwind tables have for the
 *	                                    registers of struct stack_registers
 *	CALL_BYTES                          the longest call
 *	call_before(address, code, target)  what kind of call ends at @address, when the CALL_BYTES
 *	                                    before that are @code
 */
enum call { CALL_NONE, CALL_BY_POINTER, CALL_BY_ADDRESS /* *target is that */ };

#if defined(__x86_64__)

/* System V ABI, AMD64 supplement, figure 3.36. */
enum { UNWIND_FP = 6, UNWIND_SP = 7, UNWIND_LINK = 16, CALL_BYTES = 7 };

static inline enum call call_before(uint64_t address, const unsigned char code[CALL_BYTES],
                                    uint64_t *target)
{
	static const unsigned char lengths[] = {2, 3, 4, 6, 7}; /* of FF /2 */
	int32_t distance;

	if (code[CALL_BYTES - 5] == 0xe8) {
		memcpy(&distance, code + CALL_BYTES - 4, sizeof(distance));
		*target = address + (uint64_t)(int64_t)distance;
		return CALL_BY_ADDRESS;
	}
	for (size_t i = 0; i < sizeof(lengths); i++) {
		const unsigned char *call = code + CALL_BYTES - lengths[i];

		if (call[0] == 0xff && (call[1] >> 3 & 7) == 2)
			return CALL_BY_POINTER;
	}
	return CALL_NONE;
}

#elif defined(__aarch64__)

/* DWARF for the Arm 64-bit Architecture, table 4. */
enum { UNWIND_FP = 29, UNWIND_LINK = 30, UNWIND_SP = 31, CALL_BYTES = 4 };

static inline enum call call_before(uint64_t address, const unsigned char code[CALL_BYTES],
                                    uint64_t *target)
{
	uint32_t word;

	memcpy(&word, code, sizeof(word));
	if ((word & 0xfffffc1f) == 0xd63f0000) /* BLR */
		return CALL_BY_POINTER;
	if (word >> 26 != 0x25) /* BL */
		return CALL_NONE;
	/* 26 bits, with a sign, in words of four bytes. */
	*target = address - CALL_BYTES + (uint64_t)((int64_t)((uint64_t)word << 38) >> 36);
	return CALL_BY_ADDRESS;
}

#endif

#endif
