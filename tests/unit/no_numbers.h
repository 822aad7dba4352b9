#ifndef TESTS_UNIT_NO_NUMBERS_H
#define TESTS_UNIT_NO_NUMBERS_H

/* Texts that others read as numbers, or cut to what fits: elements of an array of strings. */
/* clang-format off */
#define NO_NUMBERS \
	"-1", "+1", " 1", "1 ", "1e3", "0x10", "1.0", "1,000", "1_000", "one", "inf", "١", \
	"18446744073709551616", "18446744073709551617", "28446744073709551616", \
	"99999999999999999999999999999999999999"
/* clang-format on */

#endif
