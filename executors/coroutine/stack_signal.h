#ifndef EXECUTORS_COROUTINE_STACK_SIGNAL_H
#define EXECUTORS_COROUTINE_STACK_SIGNAL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Has a task that computes copy its own stack, since nobody else can know its
 * registers: SIGURG goes to its thread alone, with the number of the pinned event
 * that wants the stack, and a handler writes it.
 *
 * Only a thread that the kernel calls running gets one: in a thread that sleeps it
 * would end a nanosleep(2) or an epoll_wait(2) early, which SA_RESTART does not cover. A
 * thread that goes to sleep between that look and the signal, some microseconds, after it
 * has computed for the whole threshold, can still have such a call ended with EINTR. There
 * is no closing of this window: the kernel sends no signal on condition.
 *
 * Not in builds with the thread sanitizer, which holds signals back until the next
 * call that it knows, when the stack is another.
 */

/** Let the calling driver's tasks be asked. After it got a stack for its signals: a task's has
 * not enough to spare. */
void stack_signal_start(void);

/** Ask the driver @tid for the stack that event @number wants. Any thread. False: it cannot be. */
bool stack_signal_send(int tid, uint64_t number);

#endif
