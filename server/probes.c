#include "server/probes.h"

#include <string.h>

static void answer(struct response *response, int status, const char *text)
{
	char *body = strdup(text);

	if (body == NULL)
		return; /* a 500 */
	*response = (struct response){
		.status = status,
		.content_type = "text/plain; charset=utf-8",
		.body = body,
		.body_len = strlen(text),
	};
}

static void serve_livez(struct handler *handler, const struct request *request,
                        struct response *response)
{
	(void)handler;
	(void)request;
	answer(response, 200, "alive\n");
}

static void serve_readyz(struct handler *handler, const struct request *request,
                         struct response *response)
{
	struct readyz_handler *readyz = (struct readyz_handler *)handler;

	(void)request;
	if (atomic_load(&readyz->ready))
		answer(response, 200, "ready\n");
	else
		answer(response, 503, "shutting down\n");
}

/* Static, or part of a larger struct. */
static void destroy(struct handler *handler)
{
	(void)handler;
}

struct handler livez_handler = {
	.method = "GET",
	.path = "/livez",
	.serve = serve_livez,
	.destroy = destroy,
};

void readyz_handler_init(struct readyz_handler *handler)
{
	handler->super = (struct handler){
		.method = "GET",
		.path = "/readyz",
		.serve = serve_readyz,
		.destroy = destroy,
	};
	atomic_init(&handler->ready, true);
}
