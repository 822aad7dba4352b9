#include "server/reply.h"

#include <string.h>
#include <sys/socket.h>

#include "executors/deadline.h"
#include "server/log.h"
#include "server/write_progress.h"

static const int64_t sweep_interval_ns = 1000000000;
static const int64_t stalled_after_ns = 30 * INT64_C(1000000000);

/* In the request's pool. */
struct reply {
	h2o_linklist_t link;
	struct response response;
	int fd;
	uint64_t acknowledged_bytes;
	int64_t progress_ns; /* when that last grew, as far as the sweeps saw */
};

static struct reply *from_link(h2o_linklist_t *link)
{
	return H2O_STRUCT_FROM_MEMBER(struct reply, link, link);
}

void reply_set_init(struct reply_set *set)
{
	h2o_linklist_init_anchor(&set->replies);
	set->sweep_due_ns = INT64_MAX;
}

/* h2o clears the request's pool: written out, or the connection has ended. */
static void on_dispose(void *data)
{
	struct reply *reply = data;

	h2o_linklist_unlink(&reply->link);
	response_finish(&reply->response);
}

static struct reply *add_reply(struct reply_set *set, h2o_req_t *request, struct response *response)
{
	struct reply *reply = h2o_mem_alloc_shared(&request->pool, sizeof(*reply), on_dispose);
	int64_t now_ns = deadline_now_ns();

	*reply = (struct reply){
		.response = *response,
		.fd = h2o_socket_get_fd(request->conn->callbacks->get_socket(request->conn)),
		.progress_ns = now_ns,
	};
	*response = (struct response){0};
	if (h2o_linklist_is_empty(&set->replies))
		set->sweep_due_ns = now_ns + sweep_interval_ns;
	h2o_linklist_insert(&set->replies, &reply->link);
	return reply;
}

static void add_header(h2o_req_t *request, const char *name, const char *value)
{
	h2o_add_header_by_str(&request->pool, &request->res.headers, name, strlen(name), 0, NULL,
	                      value, strlen(value));
}

static void set_head(h2o_req_t *request, const struct response *response)
{
	const char *name, *value;
	size_t place = 0;

	request->res.status = response->status;
	request->res.reason = response_phrase(response->status);
	request->res.content_length = response->body_len;
	if (response->content_type != NULL)
		h2o_add_header(&request->pool, &request->res.headers, H2O_TOKEN_CONTENT_TYPE, NULL,
		               response->content_type, strlen(response->content_type));
	while (response_next_header(response, &place, &name, &value))
		add_header(request, name, value);
}

void reply_send(struct reply_set *set, h2o_req_t *request, struct response *response)
{
	static h2o_generator_t generator;
	struct reply *reply = add_reply(set, request, response);
	bool head_only = h2o_memis(request->method.base, request->method.len, H2O_STRLIT("HEAD"));
	h2o_iovec_t body = h2o_iovec_init(reply->response.body, reply->response.body_len);

	if (reply->response.status == 0)
		reply->response.status = 500;
	set_head(request, &reply->response);
	h2o_start_response(request, &generator);
	h2o_send(request, &body, head_only || body.len == 0 ? 0 : 1, H2O_SEND_STATE_FINAL);
}

int64_t reply_set_due_ns(const struct reply_set *set)
{
	return set->sweep_due_ns;
}

static void sweep_one(struct reply *reply, int64_t now_ns)
{
	uint64_t bytes = 0;

	if (write_progress_bytes(reply->fd, &bytes) != 0 || bytes != reply->acknowledged_bytes) {
		reply->acknowledged_bytes = bytes;
		reply->progress_ns = now_ns;
	} else if (now_ns - reply->progress_ns >= stalled_after_ns) {
		reply->progress_ns = now_ns;
		log_event(LOG_SEVERITY_WARNING, "slow_reader", "stalled_s=30 status=%d bytes=%zu",
		          reply->response.status, reply->response.body_len);
		(void)shutdown(reply->fd, SHUT_RDWR);
	}
}

void reply_set_sweep(struct reply_set *set, int64_t now_ns)
{
	if (now_ns < set->sweep_due_ns)
		return;
	for (h2o_linklist_t *link = set->replies.next; link != &set->replies; link = link->next)
		sweep_one(from_link(link), now_ns);
	set->sweep_due_ns =
		h2o_linklist_is_empty(&set->replies) ? INT64_MAX : now_ns + sweep_interval_ns;
}
