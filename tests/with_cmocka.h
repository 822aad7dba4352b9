#ifndef TESTS_WITH_CMOCKA_H
#define TESTS_WITH_CMOCKA_H

/* cmocka with the headers that it forgets to include. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
