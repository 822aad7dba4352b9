#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/calls_graph.h"
#include "tests/with_cmocka.h"

static const struct calls_bounds bounds = {
	.max_n = 100000,
	.deadline_ms = 1,
	.call_timeout_ms = 1,
	.memory_bytes = (size_t)1 << 30,
};

/* The graph of a list whose calls are written "a b c", "a: b c" with dependencies, one a line. */
static int build(const char *lines, struct calls_graph *graph, struct calls_violation *violation)
{
	json_t *list = json_array();
	json_t *body = json_pack("{s:o}", "requests", list);
	struct calls_request request;
	char *copy = strdup(lines), *text, *rest = copy, *line;
	int error;

	while ((line = strsep(&rest, "\n"))) {
		json_t *needs = json_array();
		const char *id = strsep(&line, " ");
		char *need;

		while ((need = strsep(&line, " ")))
			json_array_append_new(needs, json_string(need));
		json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "id", id, "url", "/",
		                                      "dependsOn", needs));
	}
	text = json_dumps(body, 0);
	assert_non_null(text);
	assert_int_equal(calls_request_read(text, strlen(text), &bounds, &request, violation), 0);
	error = calls_graph_build(&request, graph, violation);
	calls_request_finish(&request);
	json_decref(body);
	free(text);
	free(copy);
	return error;
}

static void expect_dependents(const struct calls_graph *graph, size_t call, const char *expected)
{
	char found[100] = "";
	size_t at = 0;

	for (uint32_t i = graph->first[call]; i < graph->first[call + 1]; i++)
		at += (size_t)snprintf(found + at, sizeof(found) - at, "%u ", graph->dependents[i]);
	assert_string_equal(found, expected);
}

static void a_list_without_dependencies_has_no_graph(void **state)
{
	struct calls_violation violation;
	struct calls_graph graph;

	(void)state;
	assert_int_equal(build("b\na\nc", &graph, &violation), 0);
	assert_null(graph.waits_for);
	calls_graph_finish(&graph);
}

static void a_diamond_has_its_edges(void **state)
{
	struct calls_violation violation;
	struct calls_graph graph;

	(void)state;
	/* The order of the list does not matter. */
	assert_int_equal(build("d c b\nc a\nb a\na\ne", &graph, &violation), 0);
	assert_int_equal(graph.waits_for[0], 2);
	assert_int_equal(graph.waits_for[1], 1);
	assert_int_equal(graph.waits_for[2], 1);
	assert_int_equal(graph.waits_for[3], 0);
	assert_int_equal(graph.waits_for[4], 0);
	expect_dependents(&graph, 0, "");
	expect_dependents(&graph, 1, "0 ");
	expect_dependents(&graph, 2, "0 ");
	expect_dependents(&graph, 3, "1 2 ");
	expect_dependents(&graph, 4, "");
	calls_graph_finish(&graph);
}

static void what_is_wrong_with_a_graph_has_its_place(void **state)
{
	static const struct {
		const char *lines, *pointer, *detail;
	} violations[] = {
		{"a\nb\na", "/requests/2/id", "is the id of an earlier call, too"},
		{"a b\nc", "/requests/0/dependsOn/0", "is not the id of a call"},
		{"a\nb a a", "/requests/1/dependsOn/1", "is given twice"},
		{"a\nb a b", "/requests/1/dependsOn/1", "is the call itself"},
		{"a b\nb a", "/requests/0/dependsOn",
	         "the call waits for itself, by way of others"},
		/* a and f hang on the cycle, but are not on it; d is before it. */
		{"a b\nb e\nc b d\nd\ne c\nf a", "/requests/2/dependsOn",
	         "the call waits for itself, by way of others"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(violations) / sizeof(violations[0]); i++) {
		struct calls_violation violation;
		struct calls_graph graph;

		assert_int_equal(build(violations[i].lines, &graph, &violation), -EINVAL);
		assert_string_equal(violation.pointer.text, violations[i].pointer);
		assert_string_equal(violation.detail, violations[i].detail);
	}
}

static void a_long_chain_is_no_cycle(void **state)
{
	enum { COUNT = 2000 };
	static char lines[COUNT * 20];
	struct calls_violation violation;
	struct calls_graph graph;
	size_t at = 0;

	(void)state;
	for (unsigned i = 0; i < COUNT; i++)
		at += (size_t)snprintf(lines + at, sizeof(lines) - at, "%u %u\n", i, i + 1);
	(void)snprintf(lines + at, sizeof(lines) - at, "%u", COUNT);
	assert_int_equal(build(lines, &graph, &violation), 0);
	expect_dependents(&graph, COUNT, "1999 ");
	calls_graph_finish(&graph);
	(void)snprintf(lines + at, sizeof(lines) - at, "%u 1", COUNT);
	assert_int_equal(build(lines, &graph, &violation), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_without_dependencies_has_no_graph),
		cmocka_unit_test(a_diamond_has_its_edges),
		cmocka_unit_test(what_is_wrong_with_a_graph_has_its_place),
		cmocka_unit_test(a_long_chain_is_no_cycle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
