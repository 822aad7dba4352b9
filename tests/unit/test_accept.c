#include <errno.h>

#include "handlers/accept.h"
#include "tests/with_cmocka.h"

static const char *const types[] = {"application/json", "application/x-ndjson",
                                    "text/event-stream"};

enum { JSON, NDJSON, EVENTS, NONE = -ENOENT };

static const struct {
	const char *accept;
	int chosen;
} cases[] = {
	{NULL, JSON},
	{"", JSON},
	{"  ", JSON},
	{"*/*", JSON},
	{"application/*", JSON},
	{"text/*", EVENTS},
	{"text/event-stream", EVENTS},
	{"TEXT/Event-Stream", EVENTS},
	{"application/x-ndjson", NDJSON},
	{"application/x-ndjson, application/json", JSON},
	{"application/x-ndjson, application/json;q=0.9", NDJSON},
	{"application/json;q=0.1,application/x-ndjson;q=0.2,text/event-stream;q=0.15", NDJSON},
	{"text/event-stream, */*", EVENTS}, /* named more precisely */
	{"application/*, application/x-ndjson", NDJSON},
	{"*/*;q=0.5, text/event-stream;q=0.4", JSON},
	{"application/json;q=0, */*", NDJSON},
	{"*/*, application/json;q=0, application/*;q=0", EVENTS}, /* the most precise one counts */
	{"application/json;charset=utf-8", JSON},
	{"text/event-stream;q=1.000 ; level=\"1,2;q=0\"", EVENTS},
	{"text/html;p=\"a, application/x-ndjson\", application/json", JSON},
	{"text/event-stream;q=x", EVENTS},
	{" , text/event-stream ,", EVENTS},
	{"text/event-stream ; q = 0.3, application/json;Q=0.2", EVENTS},

	{"text/html", NONE},
	{"application/jso", NONE},
	{"application/json;q=0", NONE},
	{"application/json;q=0.000", NONE},
	{"*/*;q=0", NONE},
	{"*", NONE},
	{"application", NONE},
	{"*/json", NONE},
	{"\"application/json", NONE},
};

static void the_type_that_is_liked_best_is_chosen(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (accept_choose(cases[i].accept, types, 3) != cases[i].chosen)
			fail_msg("%s: %d", cases[i].accept,
			         accept_choose(cases[i].accept, types, 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_type_that_is_liked_best_is_chosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
