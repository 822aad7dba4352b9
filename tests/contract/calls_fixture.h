#ifndef TESTS_CONTRACT_CALLS_FIXTURE_H
#define TESTS_CONTRACT_CALLS_FIXTURE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "clients/http_client.h"
#include "handlers/calls.h"

/*
 * POST /fanout on the executor under test, over two upstreams that echo: the default one,
 * http://one.example, and "two", http://two.example:8080.
 */

/** What a test may change before calls_set_up(). */
extern struct calls_options calls_options;

/** Of both upstreams. */
extern struct http_client *calls_client;

/** The answer: whole, or all that was streamed. */
struct calls_answer {
	struct response response;
	char *text;         /* NUL-terminated */
	size_t writes;      /* of a stream */
	size_t fail_at;     /* the write, from 1, that fails because the client has gone; 0: none */
	bool gives_up_late; /* it fails with -ETIMEDOUT instead */
};

extern struct calls_answer calls_answer;

enum { CALLS_DEADLINE_MS = 20000 };

/** With an executor for @at_once tasks. */
void calls_set_up(unsigned at_once);
int calls_tear_down(void **state);

/** Post @body and wait for the answer. @headers as in struct request, NULL: none. */
void calls_post(const char *headers, const char *query, const char *body);

/** Post a list with the @members beside "requests", and whole calls in it: printf-like. */
void calls_post_list(const char *headers, const char *members, const char *calls);

/** The answer, parsed; strictly. To be given to json_decref(). */
json_t *calls_parsed(void);

/** The answer, with every "ms" made 0.0, is @text. */
void calls_expect_text(const char *text);

/** The answer is this problem. */
void calls_expect_problem(int status, const char *pointer, const char *detail);

#endif
