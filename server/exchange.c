#include "server/exchange.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "executors/executor.h"
#include "server/log.h"
#include "server/reply.h"
#include "server/request_copy.h"

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

void exchange_client_gone(struct watched_connection *connection)
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

/* What every answer has beside what the handler puts there. */
static void prepare_head(const struct exchange *exchange, h2o_req_t *request)
{
	if (exchange->set->closing)
		request->http1_is_persistent = 0;
	reply_name_request(request, &exchange->context);
}

static void count_answer(struct exchange *exchange, int status)
{
	request_durations_add(exchange->durations, status,
	                      deadline_now_ns() - exchange->arrived_ns);
}

/* Give @response, which is consumed, to the waiting request. */
static void answer(struct exchange *exchange, struct response *response)
{
	h2o_req_t *request = untie(exchange);

	prepare_head(exchange, request);
	if (response->status == 0)
		response_problem(response, 500, NULL, "the handler gave no answer");
	count_answer(exchange, response->status);
	reply_send(exchange->set->readers, request, response);
}

/* For logfmt: every event of a request has these. */
#define EVENT_FIELDS "request_id=%s trace_id=%s path=%s "
#define EVENT_VALUES(exchange)                                                                     \
	(exchange)->context.request_id, (exchange)->context.trace_id, (exchange)->handler->path

static void exchange_free(struct exchange *exchange)
{
	h2o_linklist_unlink(&exchange->link);
	exchange->set->out--;
	cancel_finish(&exchange->cancel);
	response_finish(&exchange->response);
	if (exchange->stream != NULL)
		stream_release(exchange->stream);
	free(exchange);
}

static int begin_stream(struct response *response)
{
	struct exchange *exchange = H2O_STRUCT_FROM_MEMBER(struct exchange, response, response);

	return stream_create(&exchange->stream);
}

static int write_stream(struct response *response, const void *data, size_t len,
                        struct deadline deadline)
{
	struct exchange *exchange = H2O_STRUCT_FROM_MEMBER(struct exchange, response, response);
	bool is_news;
	int error = stream_write(exchange->stream, data, len, deadline, &is_news);

	if (is_news)
		h2o_multithread_send_message(&exchange->set->home, &exchange->news.super);
	return error;
}

static const struct response_stream_ops stream_ops = {.begin = begin_stream, .write = write_stream};

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

	h2o_multithread_send_message(&exchange->set->home, &exchange->home.super);
}

/* The request as the handler sees it, in memory of its own. NULL: no memory. */
static struct exchange *exchange_create(struct exchange_set *set, h2o_req_t *request,
                                        struct handler *handler)
{
	bool with_body = handler->takes != NULL;
	struct exchange *exchange =
		malloc(sizeof(*exchange) + request_copy_bytes(request, with_body));
	uint64_t random[4];

	if (exchange == NULL)
		return NULL;
	*exchange = (struct exchange){
		.news.exchange = exchange,
		.home.exchange = exchange,
		.response.stream_ops = &stream_ops,
		.handler = handler,
		.set = set,
		.arrived_ns = deadline_now_ns(),
	};
	exchange->request = request_copy(request, with_body, exchange->texts);
	exchange_set_random(set, random);
	request_context_init(&exchange->context, &exchange->request, random);
	exchange->context_binding = (struct task_binding){
		.key = &request_context_key,
		.value = &exchange->context,
	};
	exchange->request.deadline = deadline_in_ms(set->options.deadline_ms);
	cancel_init(&exchange->cancel, NULL);
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

static void start_stream(struct exchange *exchange)
{
	h2o_req_t *request = exchange->token->request;

	prepare_head(exchange, request);
	stream_start(exchange->stream, exchange->set->readers, &exchange->cancel, request,
	             &exchange->response);
	exchange->is_streaming = true;
}

static void take_news(struct exchange *exchange)
{
	if (exchange->token == NULL) {
		stream_end(exchange->stream, false);
		return;
	}
	if (!exchange->is_streaming)
		start_stream(exchange);
	stream_news(exchange->stream);
}

/* No more of the body comes from the task. */
static void end_stream(struct exchange *exchange, int error)
{
	if (exchange->token == NULL) {
		stream_end(exchange->stream, false);
		return;
	}
	if (!exchange->is_streaming)
		start_stream(exchange);
	if (error != 0 && error != -ECANCELED)
		log_event(LOG_SEVERITY_WARNING, "stream_cut", EVENT_FIELDS "error=%s",
		          EVENT_VALUES(exchange), strerrorname_np(-error));
	(void)untie(exchange);
	count_answer(exchange, exchange->response.status);
	stream_end(exchange->stream, error == 0);
}

static void come_home(struct exchange *exchange)
{
	if (exchange->response.is_streamed)
		end_stream(exchange, exchange->response.stream_error);
	else if (exchange->token != NULL && exchange->task.result == -EAGAIN)
		reject_unstarted(exchange);
	else if (exchange->token != NULL)
		answer(exchange, &exchange->response);
	exchange_free(exchange);
}

void exchange_receive(h2o_multithread_receiver_t *receiver, h2o_linklist_t *messages)
{
	(void)receiver;
	while (!h2o_linklist_is_empty(messages)) {
		struct exchange_message *message =
			H2O_STRUCT_FROM_MEMBER(struct exchange_message, super.link, messages->next);
		struct exchange *exchange = message->exchange;

		/* The analyzer does not see that the one before was unlinked, too.
		 * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		assert(message->super.link.prev == messages);
		h2o_linklist_unlink(&message->super.link);
		if (message == &exchange->news)
			take_news(exchange);
		else
			come_home(exchange);
	}
}

static void refuse_without_memory(struct exchange_set *set, h2o_req_t *request,
                                  struct request_durations *durations)
{
	struct response response = {0};

	response_problem(&response, 503, NULL, "out of memory");
	response_add_header(&response, "Retry-After", "1");
	request_durations_add(durations, response.status, 0);
	reply_send(set->readers, request, &response);
}

void exchange_start(struct exchange_set *set, h2o_req_t *request, struct handler *handler,
                    struct executor *executor, struct request_durations *durations)
{
	struct exchange *exchange = exchange_create(set, request, handler);

	if (exchange == NULL) {
		refuse_without_memory(set, request, durations);
		return;
	}
	exchange->has_own_executor = executor != NULL;
	exchange->durations = durations;
	if (set->canceling)
		cancel_fire(&exchange->cancel, CANCEL_SHUTDOWN);
	exchange->task = (struct task){
		.run = run,
		.done = done,
		.cancel = &exchange->cancel,
		.deadline = exchange->request.deadline,
		.context = &exchange->context_binding,
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

void exchange_give_up(struct exchange *exchange)
{
	struct response response = {0};
	long long deadline_ms = (long long)exchange->set->options.deadline_ms;

	log_event(LOG_SEVERITY_WARNING, "overdue", EVENT_FIELDS "deadline_ms=%lld",
	          EVENT_VALUES(exchange), deadline_ms);
	cancel_fire(&exchange->cancel, CANCEL_DEADLINE);
	if (exchange->is_streaming) {
		end_stream(exchange, -ECANCELED);
		return;
	}
	response_problem(&response, 504, NULL, "no answer within %lld ms", deadline_ms);
	answer(exchange, &response);
}

void exchange_abandon(struct exchange *exchange)
{
	struct response response = {0};

	if (exchange->is_streaming) {
		end_stream(exchange, -ECANCELED);
		return;
	}
	response_problem(&response, 503, NULL, "shutting down");
	answer(exchange, &response);
}
