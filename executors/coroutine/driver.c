#include "executors/coroutine/driver.h"

#include "executors/coroutine/overflow.h"
#include "executors/thread_start.h"

static _Thread_local struct driver *self;

__attribute__((noinline)) struct driver *driver_self(void)
{
	struct driver *driver = self;

	__asm__ volatile("" : "+r"(driver));
	return driver;
}

bool driver_owns(const struct coroutine_carrier *carrier)
{
	const struct driver *driver = driver_self();

	return driver && driver->carrier == carrier && !driver->on_task;
}

static void *driver_main(void *carrier)
{
	struct driver driver = {.carrier = carrier};
	void *signal_stack;

	(void)pthread_setname_np(pthread_self(), "fanoutd-driver");
	fiber_adopt_thread(&driver.native);
	signal_stack = overflow_catch_start();
	self = &driver;
	coroutine_carrier_drive(driver.carrier);
	self = NULL;
	overflow_catch_stop(signal_stack);
	return NULL;
}

int driver_start(struct coroutine_carrier *carrier, pthread_t *thread)
{
	return thread_start(thread, 0, driver_main, carrier);
}
