#include "executors/coroutine/stack_signal.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "executors/coroutine/driver.h"
#include "executors/coroutine/executor.h"
#include "executors/coroutine/signal_registers.h"

static pthread_once_t installed = PTHREAD_ONCE_INIT;

static struct coroutine_executor *executor_of(const struct driver *driver)
{
	return (struct coroutine_executor *)((char *)driver->pool -
	                                     offsetof(struct coroutine_executor, drivers));
}

/* Write the stack that the signal came on, if it is what was asked for. It may come when this
 * thread is elsewhere, and the task and all that it had are gone: only a coroutine whose stack we
 * are on is certain to be one. */
static bool write_stack(struct pinned_stack *stack, const ucontext_t *context)
{
	struct stack_registers at = signal_registers(context);

	if (!coroutine_has_on_stack(stack->coroutine, at.sp))
		return false;
	/* The same from the moment that the monitor saw until the task has claimed its carrier and
	 * releases it again. */
	if (stack->coroutine->expected != stack->carrier_word)
		return false;
	stack_snapshot_take(&stack->snapshot, &at, (uintptr_t)stack->coroutine);
	return true;
}

static void on_signal(int signal_number, siginfo_t *info, void *context)
{
	int saved_errno = errno;
	const struct driver *driver = driver_self();

	(void)signal_number;
	if (driver && info->si_code == SI_QUEUE && info->si_pid == getpid()) {
		struct coroutine_executor *executor = executor_of(driver);
		struct pinned_stack *stack = pinned_events_begin_stack(
			&executor->monitor.events, (uint64_t)info->si_value.sival_ptr);

		if (stack)
			pinned_events_end_stack(stack, write_stack(stack, context));
	}
	errno = saved_errno;
}

static void install(void)
{
	struct sigaction action = {
		.sa_sigaction = on_signal,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART,
	};

	(void)sigfillset(&action.sa_mask);
	(void)sigdelset(&action.sa_mask, SIGSEGV);
	(void)sigaction(SIGURG, &action, NULL);
}

void stack_signal_start(void)
{
	sigset_t signals;
	stack_t stack;

	if (sigaltstack(NULL, &stack) < 0 || stack.ss_flags & SS_DISABLE)
		return;
	(void)pthread_once(&installed, install);
	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGURG);
	(void)pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
}

bool stack_signal_send(int tid, uint64_t number)
{
	siginfo_t info = {
		.si_signo = SIGURG,
		.si_code = SI_QUEUE,
	};

	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_ptr = (void *)number;
	return syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, SIGURG, &info) == 0;
}
