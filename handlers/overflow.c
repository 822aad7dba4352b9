#include "handlers/overflow.h"

/* More than any stack has room for. */
enum { FRAMES = 100 * 1000 * 1000 };

static __attribute__((noinline)) unsigned recurse(unsigned depth)
{
	char frame[200];
	unsigned result = 0;

	/* So that the compiler sees neither a loop nor a frame that is not used. */
	__asm__ volatile("" : : "r"(frame) : "memory");
	if (depth > 0)
		result = recurse(depth - 1);
	__asm__ volatile("" : "+r"(result) : "r"(frame) : "memory");
	return result + 1;
}

static void serve(struct handler *handler, const struct request *request, struct response *response)
{
	(void)handler;
	(void)request;
	response_problem(response, 500, NULL, "%u frames were not enough", recurse(FRAMES));
}

static void destroy(struct handler *handler)
{
	(void)handler;
}

static struct handler handler = {
	.method = "GET",
	.path = "/debug/overflow",
	.serve = serve,
	.destroy = destroy,
};

struct handler *const overflow_handler = &handler;
