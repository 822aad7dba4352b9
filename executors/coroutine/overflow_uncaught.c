#include "executors/coroutine/overflow.h"

void *overflow_catch_start(void)
{
	return NULL;
}

void overflow_catch_stop(void *signal_stack)
{
	(void)signal_stack;
}
