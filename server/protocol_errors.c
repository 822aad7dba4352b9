#include "server/protocol_errors.h"

#include "handlers/handler.h"

/* h2o sends an error as one buffer; put a problem in its place. */
static void send_problem(h2o_ostream_t *stream, h2o_req_t *request, h2o_iovec_t *bodies,
                         size_t count, h2o_send_state_t state)
{
	static const char content_type[] = "application/problem+json";
	struct response response = {0};

	if (count == 1)
		response_problem(&response, request->res.status, NULL, "%.*s", (int)bodies[0].len,
		                 bodies[0].base);
	if (response.body != NULL) {
		bodies[0] = h2o_strdup(&request->pool, response.body, response.body_len);
		request->res.content_length = response.body_len;
		h2o_set_header(&request->pool, &request->res.headers, H2O_TOKEN_CONTENT_TYPE,
		               content_type, sizeof(content_type) - 1, 1);
	}
	response_finish(&response);
	h2o_ostream_send_next(stream, request, bodies, count, state);
}

static void on_setup_ostream(h2o_filter_t *filter, h2o_req_t *request, h2o_ostream_t **slot)
{
	(void)filter;
	h2o_add_ostream(request, sizeof(h2o_ostream_t), slot)->do_send = send_problem;
	h2o_setup_next_ostream(request, slot);
}

void protocol_errors_register(h2o_hostconf_t *host)
{
	/* Where h2o puts a request that ended before it was given to a path. */
	h2o_create_filter(&host->fallback_path, sizeof(h2o_filter_t))->on_setup_ostream =
		on_setup_ostream;
}
