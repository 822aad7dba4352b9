#ifndef EXECUTORS_COROUTINE_THREAD_LOCAL_ADDRESSES_H
#define EXECUTORS_COROUTINE_THREAD_LOCAL_ADDRESSES_H

/*
 * Included by force into every file (meson.build). A task can come back from a
 * wait on another pthread, but glibc declares the functions that return the
 * address of a thread-local __attribute__((const)), so gcc and clang keep that
 * address across the wait from -O1 on, and errno becomes another thread's.
 * Here the const declarations go to names that nobody calls, and the real
 * functions are declared again without the attribute.
 */
#ifndef __ASSEMBLER__
#define __errno_location fanoutd_const_errno_location
#define pthread_self fanoutd_const_pthread_self
#define __ctype_b_loc fanoutd_const_ctype_b_loc
#define __ctype_tolower_loc fanoutd_const_ctype_tolower_loc
#define __ctype_toupper_loc fanoutd_const_ctype_toupper_loc
#define __h_errno_location fanoutd_const_h_errno_location
#define __res_state fanoutd_const_res_state
#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <resolv.h>
#undef __errno_location
#undef pthread_self
#undef __ctype_b_loc
#undef __ctype_tolower_loc
#undef __ctype_toupper_loc
#undef __h_errno_location
#undef __res_state

extern int *__errno_location(void) __attribute__((nothrow));
extern pthread_t pthread_self(void) __attribute__((nothrow));
extern const unsigned short **__ctype_b_loc(void) __attribute__((nothrow));
extern const __int32_t **__ctype_tolower_loc(void) __attribute__((nothrow));
extern const __int32_t **__ctype_toupper_loc(void) __attribute__((nothrow));
extern int *__h_errno_location(void) __attribute__((nothrow));
extern struct __res_state *__res_state(void) __attribute__((nothrow));
#endif

#endif
