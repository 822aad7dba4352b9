#include "server/exchange.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "executors/cancel.h"
#include "executors/executor.h"
#include "server/log.h"

/* How much later than the deadline the front answers itself. The deadline is also the one of the
 * handler's scope, so a handler that heeds it comes first. */
static const int64_t grace_ns = 500 * INT64_C(1000000);

/* In the request's pool: there for as long as the request is. */
struct exchange_token {
	struct exchange *exchange; /* NULL once answered */
	h2o_req_t *request;
};

struct exchange {
	h2o_multithread_message_t message; /* what is sent home */
	struct task task;
	struct cancel cancel;
	struct request request;
	struct response response;
	struct handler *handler;
	bool has_own_executor; /* which the executors of the statistics are not */

	/* The front's. */
	struct exchange_set *set;
	h2o_linklist_t link;          /* in set->exchanges */
	h2o_linklist_t waiting;       /* in set->unanswered while there is a token */
	struct exchange_token *token; /* NULL: the request is gone, or has been answered */
	struct watched_connection connection;
	struct request_durations *durations;
	int64_t arrived_ns;

	char texts[]; /* what @request points to */
};

static struct exchange *from_waiting(h2o_linklist_t *link)
{
	return H2O_STRUCT_FROM_MEMBER(struct exchange, waiting, link);
}

/* From here on the exchange and its request have nothing to do with each other. */
static h2o_req_t *untie(struct exchange *exchange)
{
	h2o_req_t *request = exchange->token->request;

	exchange->token->exchange = NULL;
	exchange->token = NULL;
	h2o_linklist_unlink(&exchange->waiting);
	disconnect_watch_remove(&exchange->set->watch, &exchange->connection);
	return request;
}

static void on_request_dispose(void *data)
{
	struct exchange_token *token = data;
	struct exchange *exchange = token->exchange;

	if (exchange == NULL)
		return;
	(void)untie(exchange);
	cancel_fire(&exchange->cancel, CANCEL_CLIENT_GONE);
}

static void on_client_gone(struct watched_connection *connection)
{
	struct exchange *exchange = H2O_STRUCT_FROM_MEMBER(struct exchange, connection, connection);

	cancel_fire(&exchange->cancel, CANCEL_CLIENT_GONE);
}

static void tie(struct exchange *exchange, h2o_req_t *request)
{
	struct exchange_set *set = exchange->set;
	h2o_socket_t *socket = request->conn->callbacks->get_socket(request->conn);

	exchange->token =
		h2o_mem_alloc_shared(&request->pool, sizeof(*exchange->token), on_request_dispose);
	*exchange->token = (struct exchange_token){exchange, request};
	h2o_linklist_insert(&set->unanswered, &exchange->waiting);
	disconnect_watch_add(&set->watch, &exchange->connection, h2o_socket_get_fd(socket));
}

/* Give @response, which is consumed, to the waiting request. */
static void answer(struct exchange *exchange, struct response *response)
{
	struct exchange_set *set = exchange->set;
	h2o_req_t *request = untie(exchange);

	if (set->closing)
		request->http1_is_persistent = 0;
	if (response->status == 0)
		response_problem(response, 500, NULL, "the handler gave no answer");
	request_durations_add(exchange->durations, response->status,
	                      deadline_now_ns() - exchange->arrived_ns);
	reply_send(set->replies, request, response);
}

static void exchange_free(struct exchange *exchange)
{
	h2o_linklist_unlink(&exchange->link);
	exchange->set->out--;
	cancel_finish(&exchange->cancel);
	response_finish(&exchange->response);
	free(exchange);
}

/* Never -EAGAIN: that is what an executor makes of a task that it could not start. */
static int run(struct task *task)
{
	struct exchange *exchange = H2O_STRUCT_FROM_MEMBER(struct exchange, task, task);

	exchange->handler->serve(exchange->handler, &exchange->request, &exchange->response);
	return 0;
}

/* The task's last act: hand the exchange back to its front. */
static void done(struct task *task)
{
	struct exchange *exchange = H2O_STRUCT_FROM_MEMBER(struct exchange, task, task);

	h2o_multithread_send_message(&exchange->set->home, &exchange->message);
}

static const char *copy_text(char **place, const char *text, size_t length)
{
	char *copy = *place;

	h2o_memcpy(copy, text, length);
	copy[length] = '\0';
	*place += length + 1;
	return copy;
}

/* The request as the handler sees it, in memory of its own. NULL: no memory. */
static struct exchange *snapshot(h2o_req_t *request)
{
	h2o_iovec_t method = request->method, path = request->path_normalized, query = {0};

	if (request->query_at != SIZE_MAX)
		query = h2o_iovec_init(request->path.base + request->query_at + 1,
		                       request->path.len - request->query_at - 1);
	struct exchange *exchange = malloc(sizeof(*exchange) + method.len + path.len + query.len +
	                                   request->entity.len + 4);

	if (exchange == NULL)
		return NULL;
	*exchange = (struct exchange){0};
	char *place = exchange->texts;

	exchange->request = (struct request){
		.method = copy_text(&place, method.base, method.len),
		.path = copy_text(&place, path.base, path.len),
		.query = copy_text(&place, query.base, query.len),
		.body = copy_text(&place, request->entity.base, request->entity.len),
		.body_len = request->entity.len,
	};
	return exchange;
}

static void reject(struct exchange *exchange, const struct executor *executor)
{
	struct response response = {0};

	response_problem(&response, 503, NULL, "the %s executor of %s is full",
	                 executor_name(executor), exchange->handler->path);
	response_add_header(&response, "Retry-After", "1");
	answer(exchange, &response);
}

static void count_rejection(struct exchange *exchange, enum rejection reason)
{
	if (!exchange->has_own_executor)
		rejections_add(exchange->set->options.rejections, reason);
}

/* An executor only says that it is full. The figures may have moved on; it is a statistic. */
static enum rejection rejection_reason(const struct exchange *exchange, struct executor *executor)
{
	struct executor_stats stats;

	executor_stats(executor, &stats);
	if (stats.live >= exchange->set->options.max_tasks)
		return REJECTED_MAX_TASKS;
	return stats.queued > 0 ? REJECTED_QUEUE : REJECTED_THREADS;
}

/* It was admitted, and then there was no stack for its task. */
static void reject_unstarted(struct exchange *exchange)
{
	count_rejection(exchange, REJECTED_MEMORY);
	reject(exchange, exchange->task.executor);
}

static void on_home(h2o_multithread_receiver_t *receiver, h2o_linklist_t *messages)
{
	(void)receiver;
	while (!h2o_linklist_is_empty(messages)) {
		struct exchange *exchange =
			H2O_STRUCT_FROM_MEMBER(struct exchange, message.link, messages->next);

		/* The analyzer does not see that the one before was unlinked, too.
		 * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		assert(exchange->message.link.prev == messages);
		h2o_linklist_unlink(&exchange->message.link);
		if (exchange->token != NULL && exchange->task.result == -EAGAIN)
			reject_unstarted(exchange);
		else if (exchange->token != NULL)
			answer(exchange, &exchange->response);
		exchange_free(exchange);
	}
}

void exchange_start(struct exchange_set *set, h2o_req_t *request, struct handler *handler,
                    struct executor *executor, struct request_durations *durations)
{
	struct exchange *exchange = snapshot(request);
	struct response response = {0};

	if (exchange == NULL) {
		response_problem(&response, 503, NULL, "out of memory");
		response_add_header(&response, "Retry-After", "1");
		request_durations_add(durations, response.status, 0);
		reply_send(set->replies, request, &response);
		return;
	}
	exchange->arrived_ns = deadline_now_ns();
	exchange->handler = handler;
	exchange->has_own_executor = executor != NULL;
	exchange->set = set;
	exchange->durations = durations;
	exchange->request.deadline = deadline_in_ms(set->options.deadline_ms);
	cancel_init(&exchange->cancel, NULL);
	if (set->canceling)
		cancel_fire(&exchange->cancel, CANCEL_SHUTDOWN);
	exchange->task = (struct task){
		.run = run,
		.done = done,
		.cancel = &exchange->cancel,
		.deadline = exchange->request.deadline,
		.name = handler->path,
	};
	h2o_linklist_insert(&set->exchanges, &exchange->link);
	set->out++;
	tie(exchange, request);
	if (executor == NULL)
		executor = executor_set_pick(set->options.executors, exchange->request.query);
	if (executor_submit(executor, &exchange->task) != 0) {
		count_rejection(exchange, rejection_reason(exchange, executor));
		reject(exchange, executor);
		exchange_free(exchange);
	}
}

int exchange_set_init(struct exchange_set *set, h2o_context_t *context, struct reply_set *replies,
                      const struct exchange_options *options)
{
	*set = (struct exchange_set){.options = *options, .replies = replies};
	h2o_linklist_init_anchor(&set->exchanges);
	h2o_linklist_init_anchor(&set->unanswered);
	int error = disconnect_watch_init(&set->watch, context->loop, options->keep_half_closed,
	                                  on_client_gone);

	if (error != 0)
		return error;
	h2o_multithread_register_receiver(context->queue, &set->home, on_home);
	return 0;
}

void exchange_set_finish(struct exchange_set *set)
{
	h2o_multithread_unregister_receiver(set->home.queue, &set->home);
	disconnect_watch_finish(&set->watch);
}

/* When the front gives up on the oldest request that waits. */
static int64_t overdue_ns(const struct exchange_set *set)
{
	if (h2o_linklist_is_empty((h2o_linklist_t *)&set->unanswered))
		return INT64_MAX;
	return from_waiting(set->unanswered.next)->request.deadline.ns + grace_ns;
}

int64_t exchange_set_due_ns(const struct exchange_set *set)
{
	int64_t watch_ns = disconnect_watch_due_ns(&set->watch);
	int64_t oldest_ns = overdue_ns(set);

	return watch_ns < oldest_ns ? watch_ns : oldest_ns;
}

void exchange_set_run(struct exchange_set *set, int64_t now_ns)
{
	disconnect_watch_run(&set->watch, now_ns);
	while (overdue_ns(set) <= now_ns) {
		struct exchange *exchange = from_waiting(set->unanswered.next);
		struct response response = {0};

		log_event(LOG_SEVERITY_WARNING, "overdue", "path=%s deadline_ms=%lld",
		          exchange->handler->path, (long long)set->options.deadline_ms);
		response_problem(&response, 504, NULL, "no answer within %lld ms",
		                 (long long)set->options.deadline_ms);
		answer(exchange, &response);
		cancel_fire(&exchange->cancel, CANCEL_DEADLINE);
	}
}

void exchange_set_cancel(struct exchange_set *set)
{
	set->canceling = true;
	for (h2o_linklist_t *link = set->exchanges.next; link != &set->exchanges; link = link->next)
		cancel_fire(&H2O_STRUCT_FROM_MEMBER(struct exchange, link, link)->cancel,
		            CANCEL_SHUTDOWN);
}

void exchange_set_abandon(struct exchange_set *set)
{
	while (!h2o_linklist_is_empty(&set->unanswered)) {
		struct response response = {0};

		response_problem(&response, 503, NULL, "shutting down");
		answer(from_waiting(set->unanswered.next), &response);
	}
}
