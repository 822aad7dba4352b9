#ifndef TESTS_CONTRACT_MANY_CALLS_H
#define TESTS_CONTRACT_MANY_CALLS_H

#include "clients/http_client.h"
#include "tests/contract/over_executor.h"

/* Calls of a client, each in a task of the executor under test, and what became of them. */
enum { MANY_CALLS_MOST = 2000 };

struct many_calls {
	struct http_client *client;
	unsigned count;           /* at most MANY_CALLS_MOST */
	unsigned max_parallel;    /* 0: all at once */
	struct deadline deadline; /* of all together; zeroed: none */
	struct http_call like;    /* each; its URL and max_reply_bytes have defaults */
	int64_t cancel_after_ns;  /* all of them; 0: they are not */
};

/** Make them in a task of @executor, and return when all have an outcome. */
void make_calls(struct executor *executor, const struct many_calls *calls);

/** What became of call number @index of the last make_calls(). Its reply is freed. */
const struct http_call *made_call(unsigned index);

/** How many of them ended with @failure; or as whole replies with @status. */
unsigned count_failed(enum http_failure failure);
unsigned count_answered(int status);

/** How often all of them were tried. */
unsigned count_attempts(void);

#endif
