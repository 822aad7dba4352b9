#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "clients/upstream_set.h"
#include "handlers/calls_graph.h"
#include "handlers/calls_plan.h"
#include "handlers/calls_request.h"
#include "handlers/calls_writer.h"
#include "tests/fakes/refusals.h"
#include "tests/with_cmocka.h"

/* A list of calls without memory: at whichever step, it says so and leaves nothing. */

static const char list[] =
	"{\"policy\":\"first\",\"requests\":["
	"{\"id\":\"a\",\"url\":\"/\",\"method\":\"PUT\",\"body\":{\"x\":[1,2,3]}},"
	"{\"id\":\"b\",\"url\":\"/"
	"\",\"method\":\"PUT\",\"body\":{\"base64\":\"aGk=\"},\"dependsOn\":[\"a\"]},"
	"{\"id\":\"c\",\"url\":\"/\",\"headers\":{\"a\":\"b\"},\"dependsOn\":[\"a\",\"b\"]}]}";

static struct upstream_set *set;

static int make_set(void **state)
{
	static const struct http_client_ops ops = {.name = "none"};
	static struct http_client client = {&ops};
	const struct upstream_settings settings = {.url = "http://one.example", .client = &client};
	size_t faulty;

	(void)state;
	json_set_alloc_funcs(malloc, free); /* those that refuse */
	return upstream_set_create(
		&(struct upstream_set_options){.upstreams = &settings, .count = 1}, &set, &faulty);
}

static int release_set(void **state)
{
	(void)state;
	upstream_set_release(set);
	return 0;
}

static int write_answer(struct calls_plan *plan)
{
	struct response response = {0};
	struct calls_coverage coverage = {0};
	struct calls_writer writer;
	struct reply_memory memory;
	int error;

	reply_memory_init(&memory, 1 << 20);
	calls_writer_init(&writer, &(struct calls_writing){.memory = &memory}, plan->calls,
	                  plan->count, &response);
	error = calls_writer_begin(&writer);
	for (size_t i = 0; !error && i < plan->count; i++) {
		plan->calls[i].outcome = HTTP_DNS;
		plan->calls[i].is_settled = true;
		calls_coverage_add(&coverage, &plan->calls[i]);
		error = calls_writer_result(&writer, &plan->calls[i]);
	}
	if (!error)
		error = calls_writer_end(&writer, &coverage);
	calls_writer_finish(&writer);
	response_finish(&response);
	return error;
}

static int plan_and_write(const struct calls_request *request, struct calls_violation *violation)
{
	struct calls_planning planning = {.set = set,
	                                  .call_timeout_ms = 1000,
	                                  .max_reply_bytes = 1000,
	                                  .memory_bytes = 1 << 20};
	struct calls_graph graph = {0};
	struct calls_plan plan = {0};
	int error = calls_graph_build(request, &graph, violation);

	if (!error)
		error = calls_plan_make(request, &planning, &plan, violation);
	if (!error)
		error = write_answer(&plan);
	calls_plan_finish(&plan);
	calls_graph_finish(&graph);
	return error;
}

static int attempt(void)
{
	static const struct calls_bounds bounds = {
		.max_n = 10, .deadline_ms = 1000, .call_timeout_ms = 1000, .memory_bytes = 1 << 20};
	struct calls_violation violation;
	struct calls_request request;
	int error = calls_request_read(list, strlen(list), &bounds, &request, &violation);

	if (error)
		return error;
	error = plan_and_write(&request, &violation);
	calls_request_finish(&request);
	return error;
}

static void without_memory_a_list_is_not_answered(void **state)
{
	unsigned refused = 0;
	int error;

	(void)state;
	for (unsigned k = 1;; k++) {
		refuse(REFUSE_MEMORY, k);
		error = attempt();
		if (refusals_end() == 0)
			break;
		/* jansson takes a token that it has no memory for to be a wrong one. */
		if (error != -ENOMEM && error != -ENOBUFS && error != -EINVAL)
			fail_msg("%d at refusal %u", error, k);
		refused++;
	}
	assert_int_equal(error, 0);
	assert_in_range(refused, 30, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_memory_a_list_is_not_answered),
	};

	return cmocka_run_group_tests(tests, make_set, release_set);
}
