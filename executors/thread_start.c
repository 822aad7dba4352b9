#include "executors/thread_start.h"

#include <signal.h>

static void asynchronous_signals(sigset_t *set)
{
	static const int synchronous[] = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
	                                  SIGTRAP, SIGABRT, SIGSYS};

	(void)sigfillset(set);
	for (size_t i = 0; i < sizeof(synchronous) / sizeof(synchronous[0]); i++)
		(void)sigdelset(set, synchronous[i]);
}

int thread_start(pthread_t *thread, size_t stack_bytes, void *(*main)(void *arg), void *arg)
{
	pthread_attr_t attributes;
	sigset_t blocked;
	int error;

	asynchronous_signals(&blocked);
	if (pthread_attr_init(&attributes) != 0)
		return -EAGAIN;
	error = pthread_attr_setsigmask_np(&attributes, &blocked);
	if (error == 0 && stack_bytes > 0)
		error = pthread_attr_setstacksize(&attributes, stack_bytes);
	if (error == 0)
		error = pthread_create(thread, &attributes, main, arg);
	(void)pthread_attr_destroy(&attributes);
	return error == 0 ? 0 : -EAGAIN;
}
