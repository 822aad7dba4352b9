#include "clients/http_fail.h"

#include <assert.h>
#include <errno.h>

#include "executors/task.h"

enum http_failure http_fail_wait(struct http_call *call, int error)
{
	enum cancel_reason reason = task_cancel_reason();

	if (error == -ETIMEDOUT)
		return http_fail(call, HTTP_TIMEOUT, "the call's deadline has passed");
	assert(error == -ECANCELED);
	return http_fail(call, reason == CANCEL_DEADLINE ? HTTP_TIMEOUT : HTTP_CANCELED,
	                 cancel_reason_name(reason));
}

bool http_is_shortage(int error)
{
	switch (error) {
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM:
	case ENOSPC: /* the user's epoll watches */
		return true;
	default:
		return false;
	}
}

enum http_failure http_look_up(struct http_call *call, struct resolver *resolver,
                               const struct url_host *host, struct deadline deadline,
                               struct resolver_answer *answer)
{
	int error = resolver_look_up(resolver, host->name, host->name_len, deadline, answer);

	switch (error) {
	case 0:
		return HTTP_OK;
	case -ENOENT:
		return http_fail(call, HTTP_DNS, answer->reason);
	case -EAGAIN:
		return http_fail(call, HTTP_DNS, "too many names to look up");
	default:
		return http_fail_wait(call, error);
	}
}
