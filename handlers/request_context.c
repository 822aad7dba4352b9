#include "handlers/request_context.h"

#include <stdbool.h>
#include <string.h>

#include "executors/splitmix64.h"
#include "executors/task_context.h"

enum { TRACE_ID_DIGITS = 32, SPAN_ID_DIGITS = 16, FLAGS_DIGITS = 2 };

const struct task_key request_context_key = {"request context"};

const struct request_context *request_context_current(void)
{
	return task_context_get(&request_context_key);
}

static bool is_sane_id(const char *id)
{
	static const char characters[] = "0123456789abcdefghijklmnopqrstuvwxyz"
					 "ABCDEFGHIJKLMNOPQRSTUVWXYZ-._~+/=:@";
	size_t length = strspn(id, characters);

	return length > 0 && length <= REQUEST_ID_MAX && id[length] == '\0';
}

/* The only value of a header, or NULL. */
static const char *single_header(const struct request *request, const char *name)
{
	const char *value = request_header(request, name);

	return value && !request_header_next(request, name, value) ? value : NULL;
}

static bool is_lower_hex(const char *text, size_t digits)
{
	return strspn(text, "0123456789abcdef") >= digits;
}

static bool is_all_zero(const char *text, size_t digits)
{
	return strspn(text, "0") >= digits;
}

/* "-" and @digits after @place, which is moved behind them. */
static bool take_field(const char **place, size_t digits, const char **field)
{
	if (**place != '-' || !is_lower_hex(*place + 1, digits))
		return false;
	*field = *place + 1;
	*place += 1 + digits;
	return true;
}

/*
 * §3.2: version "-" trace-id "-" parent-id "-" trace-flags. A version above 00 may have more,
 * behind another "-"; ff is none.
 */
static bool take_traceparent(struct request_context *context, const char *text)
{
	const char *place, *trace_id, *parent_id, *flags;

	if (!is_lower_hex(text, 2) || memcmp(text, "ff", 2) == 0)
		return false;
	place = text + 2;
	if (!take_field(&place, TRACE_ID_DIGITS, &trace_id) ||
	    !take_field(&place, SPAN_ID_DIGITS, &parent_id) ||
	    !take_field(&place, FLAGS_DIGITS, &flags))
		return false;
	if (is_all_zero(trace_id, TRACE_ID_DIGITS) || is_all_zero(parent_id, SPAN_ID_DIGITS))
		return false;
	if (*place != '\0' && (memcmp(text, "00", 2) == 0 || *place != '-'))
		return false;
	memcpy(context->trace_id, trace_id, TRACE_ID_DIGITS);
	/* §3.2.2.5: the lowest bit; others are not known, and are not passed on. */
	context->is_sampled = strchr("13579bdf", flags[1]) != NULL;
	return true;
}

static void take_tracestate(struct request_context *context, const char *text)
{
	if (text && strlen(text) <= TRACESTATE_MAX)
		context->tracestate = text;
}

/* Sixteen digits at @place; returns what is behind them. */
static char *put_hex(char *place, uint64_t number)
{
	for (int shift = 60; shift >= 0; shift -= 4)
		*place++ = "0123456789abcdef"[number >> shift & 15];
	return place;
}

static void write_id(char text[TRACE_ID_BYTES], uint64_t high, uint64_t low)
{
	*put_hex(put_hex(text, high), low) = '\0';
}

void request_context_init(struct request_context *context, const struct request *request,
                          const uint64_t random[4])
{
	const char *id = single_header(request, "x-request-id");
	const char *parent = single_header(request, "traceparent");

	*context = (struct request_context){.request_id = id, .span_seed = random[0] ^ random[3]};
	if (!id || !is_sane_id(id)) {
		write_id(context->made_id, random[0], random[1]);
		context->request_id = context->made_id;
	}
	if (parent && take_traceparent(context, parent))
		take_tracestate(context, single_header(request, "tracestate"));
	else
		write_id(context->trace_id, random[2], random[3] | 1);
}

/* Span 0 is the request's own. Each has a state of its own, and so another number. */
static void write_traceparent(const struct request_context *context, uint64_t number,
                              char text[TRACEPARENT_BYTES])
{
	uint64_t state = context->span_seed + number, span = splitmix64_next(&state);
	char *place = mempcpy(text, "00-", 3);

	place = mempcpy(place, context->trace_id, TRACE_ID_DIGITS);
	*place++ = '-';
	place = put_hex(place, span ? span : 1);
	memcpy(place, context->is_sampled ? "-01" : "-00", sizeof("-00"));
}

void request_context_traceparent(const struct request_context *context,
                                 char text[TRACEPARENT_BYTES])
{
	write_traceparent(context, 0, text);
}

void request_context_call(const struct request_context *context, uint64_t number,
                          struct request_context_call *out)
{
	out->request_id = context->request_id;
	out->tracestate = context->tracestate;
	write_traceparent(context, number + 1, out->traceparent);
}
