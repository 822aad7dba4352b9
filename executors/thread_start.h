#ifndef EXECUTORS_THREAD_START_H
#define EXECUTORS_THREAD_START_H

#include <pthread.h>
#include <stddef.h>

/**
 * pthread_create(3) for every thread but main's: asynchronous signals are blocked in it, because
 * they are for the one that reads the signalfd. Those that a fault of its own raises (SIGSEGV,
 * SIGBUS, …) are not: the kernel would end the process without asking any handler.
 *
 * @stack_bytes of stack, 0 for the system's default. Any thread. Returns 0; -EAGAIN no more
 * threads, or no memory for one.
 */
int thread_start(pthread_t *thread, size_t stack_bytes, void *(*main)(void *arg), void *arg);

#endif
