#include "server/dispatch.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "server/reply.h"
#include "server/request_framing.h"

struct site_handler {
	h2o_handler_t super; /* first: h2o frees it */
	struct site *site;
};

void site_add(struct site *site, struct handler *handler, bool on_front, bool head)
{
	assert(site->count < SITE_ROUTES_MAX);
	site->unmatched.route = "";
	site->routes[site->count++] = (struct route){
		.handler = handler,
		.on_front = on_front,
		.head = head,
		.durations = {.route = handler->path,
	                      .method =
	                              strcmp(handler->method, "GET") == 0 ? NULL : handler->method},
	};
}

void site_add_on(struct site *site, struct handler *handler, struct executor *executor)
{
	site_add(site, handler, false, false);
	site->routes[site->count - 1].executor = executor;
}

static struct dispatch_front *front_of(h2o_req_t *request)
{
	return H2O_STRUCT_FROM_MEMBER(struct dispatch_front, context, request->conn->ctx);
}

static bool is(h2o_iovec_t text, const char *other)
{
	return h2o_memis(text.base, text.len, other, strlen(other));
}

static bool allows(const struct route *route, h2o_iovec_t method)
{
	return is(method, route->handler->method) || (route->head && is(method, "HEAD"));
}

static void refuse(h2o_req_t *request, struct site *site, struct response *response)
{
	request_durations_add(&site->unmatched, response->status, 0);
	reply_send(&front_of(request)->readers, request, response);
}

static void refuse_framing(h2o_req_t *request, struct site *site, const char *fault)
{
	struct response response = {0};

	/* What follows on this connection may not be a request at all. */
	request->http1_is_persistent = 0;
	response_problem(&response, 400, NULL, "the request has %s", fault);
	refuse(request, site, &response);
}

static void refuse_path(h2o_req_t *request, struct site *site)
{
	struct response response = {0};

	response_problem(&response, 404, NULL, "there is nothing at this path");
	refuse(request, site, &response);
}

static void append_method(h2o_req_t *request, h2o_iovec_t *list, const char *method)
{
	*list = h2o_concat(&request->pool, *list,
	                   h2o_iovec_init(list->len == 0 ? "" : ", ", list->len == 0 ? 0 : 2),
	                   h2o_iovec_init(method, strlen(method)));
}

static void refuse_method(h2o_req_t *request, struct site *site)
{
	struct response response = {0};
	h2o_iovec_t allowed = {0};

	for (size_t i = 0; i < site->count; i++) {
		if (!is(request->path_normalized, site->routes[i].handler->path))
			continue;
		append_method(request, &allowed, site->routes[i].handler->method);
		if (site->routes[i].head)
			append_method(request, &allowed, "HEAD");
	}
	response_problem(&response, 405, NULL, "this path answers %.*s", (int)allowed.len,
	                 allowed.base);
	response_add_header(&response, "Allow",
	                    h2o_strdup(&request->pool, allowed.base, allowed.len).base);
	refuse(request, site, &response);
}

static void serve_on_front(h2o_req_t *request, struct route *route)
{
	struct response response = {0};
	struct request view = {
		.method = route->handler->method,
		.path = route->handler->path,
		.query = "",
		.body = "",
		.deadline = DEADLINE_NEVER,
	};

	int64_t start_ns = deadline_now_ns();

	route->handler->serve(route->handler, &view, &response);
	request_durations_add(&route->durations, response.status, deadline_now_ns() - start_ns);
	reply_send(&front_of(request)->readers, request, &response);
}

/* Whether @path is the absolute form of a target. *@length is that of the scheme and authority. */
static bool is_absolute(h2o_iovec_t path, size_t *length)
{
	static const char *const schemes[] = {"http://", "https://"};

	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		size_t end = strlen(schemes[i]);

		if (path.len < end || strncasecmp(path.base, schemes[i], end) != 0)
			continue;
		while (end < path.len && path.base[end] != '/' && path.base[end] != '?')
			end++;
		*length = end;
		return true;
	}
	return false;
}

/*
 * h2o takes the target of a request for a path, whatever it is. RFC 9112 §3.2.2: a server must
 * take the absolute form, too, which is made a path here. False: it is neither.
 */
static bool take_target(h2o_req_t *request)
{
	h2o_iovec_t *path = &request->path;
	size_t authority;

	if (path->len > 0 && path->base[0] == '/')
		return true;
	if (!is_absolute(*path, &authority))
		return false;
	*path = h2o_iovec_init(path->base + authority, path->len - authority);
	if (path->len == 0 || path->base[0] != '/')
		*path = h2o_concat(&request->pool, h2o_iovec_init(H2O_STRLIT("/")), *path);
	request->path_normalized = h2o_url_normalize_path(
		&request->pool, path->base, path->len, &request->query_at, &request->norm_indexes);
	return true;
}

static int on_request(h2o_handler_t *handler, h2o_req_t *request)
{
	struct site *site = ((struct site_handler *)handler)->site;
	const h2o_buffer_t *input = request->conn->callbacks->get_socket(request->conn)->input;
	const char *fault = request_framing_fault(input->bytes, input->size);
	bool path_found = false;

	if (fault == NULL && !take_target(request))
		fault = "a target that is neither a path nor a URL";
	if (fault != NULL) {
		refuse_framing(request, site, fault);
		return 0;
	}
	for (size_t i = 0; i < site->count; i++) {
		struct route *route = &site->routes[i];

		if (!is(request->path_normalized, route->handler->path))
			continue;
		path_found = true;
		if (!allows(route, request->method))
			continue;
		if (route->on_front)
			serve_on_front(request, route);
		else
			exchange_start(&front_of(request)->exchanges, request, route->handler,
			               route->executor, &route->durations);
		return 0;
	}
	if (path_found)
		refuse_method(request, site);
	else
		refuse_path(request, site);
	return 0;
}

void dispatch_register(h2o_hostconf_t *host, struct site *site)
{
	h2o_pathconf_t *path = h2o_config_register_path(host, "/", 0);
	struct site_handler *handler =
		(struct site_handler *)h2o_create_handler(path, sizeof(*handler));

	handler->super.on_req = on_request;
	handler->site = site;
}
