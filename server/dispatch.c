#include "server/dispatch.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "clients/span.h"
#include "server/exchange.h"
#include "server/reply.h"
#include "server/request_copy.h"
#include "server/request_framing.h"

struct site_handler {
	h2o_handler_t super; /* first: h2o frees it */
	struct site *site;
};

static struct route *add_route(struct site *site, struct handler *handler)
{
	struct route *route = &site->routes[site->count++];

	assert(site->count <= SITE_ROUTES_MAX);
	site->unmatched.route = "";
	*route = (struct route){
		.handler = handler,
		.durations = {.route = handler->path,
	                      .method =
	                              strcmp(handler->method, "GET") == 0 ? NULL : handler->method},
	};
	return route;
}

void site_add(struct site *site, struct handler *handler)
{
	(void)add_route(site, handler);
}

void site_add_on(struct site *site, struct handler *handler, struct executor *executor)
{
	add_route(site, handler)->executor = executor;
}

void site_add_on_front(struct site *site, struct handler *handler)
{
	add_route(site, handler)->on_front = true;
}

void site_add_probe(struct site *site, struct handler *handler)
{
	struct route *route = add_route(site, handler);

	route->on_front = true;
	route->is_probe = true;
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
	return is(method, route->handler->method) || (route->is_probe && is(method, "HEAD"));
}

/* As an exchange does that never comes to be. */
static void name_request(h2o_req_t *request)
{
	struct request copy = request_copy(
		request, false,
		h2o_mem_alloc_pool(&request->pool, request_copy_bytes(request, false)));
	struct request_context context;
	uint64_t random[4];

	exchange_set_random(&front_of(request)->exchanges, random);
	request_context_init(&context, &copy, random);
	reply_name_request(request, &context);
}

static void refuse(h2o_req_t *request, struct site *site, struct response *response)
{
	name_request(request);
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
		if (site->routes[i].is_probe)
			append_method(request, &allowed, "HEAD");
	}
	response_problem(&response, 405, NULL, "this path answers %.*s", (int)allowed.len,
	                 allowed.base);
	response_add_header(&response, "Allow",
	                    h2o_strdup(&request->pool, allowed.base, allowed.len).base);
	refuse(request, site, &response);
}

/* RFC 6750 §3: what it says of a token that is there and wrong differs from that of none. */
static void refuse_unauthorized(h2o_req_t *request, struct site *site, bool has_credentials)
{
	struct response response = {0};

	response_problem(&response, 401, NULL,
	                 has_credentials ? "this is not the bearer token"
	                                 : "a bearer token is needed");
	response_add_header(&response, "WWW-Authenticate",
	                    has_credentials ? "Bearer realm=\"fanoutd\", error=\"invalid_token\""
	                                    : "Bearer realm=\"fanoutd\"");
	refuse(request, site, &response);
}

/* False: it has been refused. */
static bool authorize(h2o_req_t *request, struct site *site)
{
	const h2o_headers_t *headers = &request->headers;
	ssize_t first, second;

	if (site->token == NULL)
		return true;
	first = h2o_find_header(headers, H2O_TOKEN_AUTHORIZATION, -1);
	second = first < 0 ? -1 : h2o_find_header(headers, H2O_TOKEN_AUTHORIZATION, first);
	if (first >= 0 && second < 0 &&
	    auth_token_admits(site->token, headers->entries[first].value.base,
	                      headers->entries[first].value.len))
		return true;
	refuse_unauthorized(request, site, first >= 0);
	return false;
}

/* Without the parameters: "application/json; charset=utf-8". */
static bool is_media_type(h2o_iovec_t value, const char *type)
{
	struct span rest = {value.base, value.len};

	return span_is_any_case(span_next_element(&rest, ';'), type);
}

static void refuse_type(h2o_req_t *request, struct site *site, const char *type)
{
	struct response response = {0};

	response_problem(&response, 415, NULL, "the body must be %s, without a Content-Encoding",
	                 type);
	response_add_header(&response, "Accept", type);
	refuse(request, site, &response);
}

static bool takes_body(const struct route *route, const h2o_req_t *request)
{
	const h2o_headers_t *headers = &request->headers;
	ssize_t type;

	if (route->handler->takes == NULL)
		return true;
	type = h2o_find_header(headers, H2O_TOKEN_CONTENT_TYPE, -1);
	return type >= 0 && is_media_type(headers->entries[type].value, route->handler->takes) &&
	       h2o_find_header(headers, H2O_TOKEN_CONTENT_ENCODING, -1) < 0;
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

/* What answers the request's path and method; NULL: nothing, and *@path_found says if that is for
 * the method. */
static struct route *find_route(struct site *site, const h2o_req_t *request, bool *path_found)
{
	*path_found = false;
	for (size_t i = 0; i < site->count; i++) {
		struct route *route = &site->routes[i];

		if (!is(request->path_normalized, route->handler->path))
			continue;
		*path_found = true;
		if (allows(route, request->method))
			return route;
	}
	return NULL;
}

static void dispatch(h2o_req_t *request, struct site *site)
{
	bool path_found;
	struct route *route = find_route(site, request, &path_found);

	if ((route == NULL || !route->is_probe) && !authorize(request, site))
		return;
	if (route == NULL && path_found)
		refuse_method(request, site);
	else if (route == NULL)
		refuse_path(request, site);
	else if (!takes_body(route, request))
		refuse_type(request, site, route->handler->takes);
	else if (route->on_front)
		serve_on_front(request, route);
	else
		exchange_start(&front_of(request)->exchanges, request, route->handler,
		               route->executor, &route->durations);
}

/* h2o leaves the white space behind values, which is no part of them: RFC 9110 §5.5. */
static void trim_values(h2o_headers_t *headers)
{
	for (size_t i = 0; i < headers->size; i++) {
		h2o_iovec_t *value = &headers->entries[i].value;
		struct span trimmed = span_trimmed((struct span){value->base, value->len});

		*value = h2o_iovec_init(trimmed.data, trimmed.length);
	}
}

static int on_request(h2o_handler_t *handler, h2o_req_t *request)
{
	struct site *site = ((struct site_handler *)handler)->site;
	const h2o_buffer_t *input = request->conn->callbacks->get_socket(request->conn)->input;
	const char *fault = request_framing_fault(input->bytes, input->size);

	if (fault == NULL && !take_target(request))
		fault = "a target that is neither a path nor a URL";
	trim_values(&request->headers);
	if (fault != NULL)
		refuse_framing(request, site, fault);
	else
		dispatch(request, site);
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
