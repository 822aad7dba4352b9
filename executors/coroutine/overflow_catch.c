#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "executors/coroutine/driver.h"
#include "executors/coroutine/executor.h"
#include "executors/coroutine/overflow.h"

/* Beyond what the kernel needs to save the registers there. */
#define HANDLER_BYTES ((size_t)16 << 10)

static struct sigaction previous; /* constant once the handler is installed */
static pthread_once_t installed = PTHREAD_ONCE_INIT;

/* On whose stack this thread may be. A task that runs may have lost its carrier; one that has
 * returned and is being ended, and is no task of the thread's any more, cannot. */
static const struct coroutine *running(void)
{
	const struct driver *driver = driver_self();
	const struct task *task = driver ? task_current() : NULL;

	if (task)
		return task->seat;
	return driver && driver->carrier
	               ? atomic_load_explicit(&driver->carrier->current, memory_order_relaxed)
	               : NULL;
}

/* The running coroutine, if @address lies in the guard of its stack. */
static const struct coroutine *overflowed_at(const char *address)
{
	const struct coroutine *coroutine = running();

	if (!coroutine || address >= coroutine->stack->low ||
	    address < coroutine->stack->low - sysconf(_SC_PAGESIZE))
		return NULL;
	return coroutine;
}

static void pass_on(int signal_number, siginfo_t *info, void *context)
{
	if (previous.sa_flags & SA_SIGINFO) {
		previous.sa_sigaction(signal_number, info, context);
	} else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
		previous.sa_handler(signal_number);
	} else {
		/* It is blocked until we return, and ends the process then. */
		(void)signal(signal_number, SIG_DFL);
		(void)raise(signal_number);
	}
}

static void on_fault(int signal_number, siginfo_t *info, void *context)
{
	const struct coroutine *coroutine = overflowed_at(info->si_addr);

	if (!coroutine) {
		pass_on(signal_number, info, context);
		return;
	}
	overflow_say(atomic_load_explicit(&coroutine->name, memory_order_relaxed),
	             coroutine->carrier->executor->stacks.slot_bytes);
	(void)signal(signal_number, SIG_DFL);
	(void)raise(signal_number);
}

static void install(void)
{
	struct sigaction action = {
		.sa_sigaction = on_fault,
		.sa_flags = SA_SIGINFO | SA_ONSTACK,
	};

	(void)sigemptyset(&action.sa_mask);
	(void)sigaction(SIGSEGV, NULL, &previous);
	(void)sigaction(SIGSEGV, &action, NULL);
}

void *overflow_catch_start(void)
{
	stack_t stack = {.ss_size = (size_t)sysconf(_SC_MINSIGSTKSZ) + HANDLER_BYTES};

	(void)pthread_once(&installed, install);
	stack.ss_sp = malloc(stack.ss_size);
	if (stack.ss_sp && sigaltstack(&stack, NULL) < 0) {
		free(stack.ss_sp);
		return NULL;
	}
	return stack.ss_sp;
}

void overflow_catch_stop(void *signal_stack)
{
	(void)sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
	free(signal_stack);
}
