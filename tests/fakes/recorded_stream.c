#include "tests/fakes/recorded_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int begin(struct response *response)
{
	(void)response;
	return 0;
}

static int append(struct response *response, const void *data, size_t len, struct deadline deadline)
{
	struct recorded_stream *stream = (struct recorded_stream *)response;
	char *text;

	(void)deadline;
	if (stream->error && stream->good_writes == 0)
		return stream->error;
	text = realloc(stream->text, stream->length + len + 1);
	if (!text)
		return -ENOMEM;
	memcpy(text + stream->length, data, len);
	stream->text = text;
	stream->length += len;
	text[stream->length] = '\0';
	stream->writes++;
	if (stream->error)
		stream->good_writes--;
	return 0;
}

void recorded_stream_init(struct recorded_stream *stream)
{
	static const struct response_stream_ops ops = {begin, append};

	*stream = (struct recorded_stream){.response.stream_ops = &ops};
}

void recorded_stream_finish(struct recorded_stream *stream)
{
	response_finish(&stream->response);
	free(stream->text);
	stream->text = NULL;
}
