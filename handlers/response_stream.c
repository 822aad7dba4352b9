#include <assert.h>
#include <errno.h>

#include "handlers/handler.h"

int response_stream_begin(struct response *response, int status, const char *content_type)
{
	int error;

	assert(!response->is_streamed && response->status == 0 && !response->body);
	if (!response->stream_ops)
		return -ENOTSUP;
	response->status = status;
	response->content_type = content_type;
	error = response->stream_ops->begin(response);
	if (error) {
		response->status = 0;
		response->content_type = NULL;
		return error;
	}
	response->is_streamed = true;
	return 0;
}

int response_stream_write(struct response *response, const void *data, size_t len,
                          struct deadline deadline)
{
	assert(response->is_streamed);
	if (response->stream_error)
		return response->stream_error;
	if (len > 0)
		response->stream_error = response->stream_ops->write(response, data, len, deadline);
	return response->stream_error;
}

void response_stream_fail(struct response *response, int error)
{
	assert(response->is_streamed && error < 0);
	if (!response->stream_error)
		response->stream_error = error;
}
