#include "clients/curl_handle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/curl_failure.h"
#include "clients/curl_fields.h"
#include "clients/http_fail.h"
#include "clients/http_reply_headers.h"

/*
 * Options are set once for the life of a handle; a call sets what it needs.
 * curl_easy_reset() and setting all of them anew for each call would cost more
 * than the rest of our part of it.
 */

enum {
	SMALLEST_REPLY_BUFFER = 256,
	/* libcurl's own for reading, one a call in flight. Its default of 16 KiB makes 10,000 calls
	 * 50 MiB larger, though little of it is used: it spreads what else they allocate. */
	READ_BUFFER = 4096,
	KEEP_ADDRESSES_S = 600, /* see set_addresses() */
};

/* Grow by doubling, to the announced length at once if there is one. */
static bool make_room(struct curl_handle *handle, size_t needed)
{
	struct curl_transfer *transfer = handle->transfer;
	struct http_call *call = transfer->call;
	size_t capacity = transfer->reply_capacity * 2;
	curl_off_t announced = -1;
	char *bigger;

	if (needed <= transfer->reply_capacity)
		return true;
	if (!call->reply)
		(void)curl_easy_getinfo(handle->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T,
		                        &announced);
	if (announced >= 0 && (size_t)announced <= call->max_reply_bytes)
		capacity = (size_t)announced + 1;
	if (capacity < SMALLEST_REPLY_BUFFER)
		capacity = SMALLEST_REPLY_BUFFER;
	if (capacity > transfer->most_body_bytes)
		capacity = transfer->most_body_bytes + 1;
	if (capacity < needed)
		capacity = needed;
	handle->is_too_long = !http_call_take_memory(call, capacity);
	if (handle->is_too_long)
		return false;
	bigger = realloc(call->reply, capacity);
	if (!bigger) {
		handle->out_of_memory = true;
		return false;
	}
	call->reply = bigger;
	transfer->reply_capacity = capacity;
	return true;
}

/* The reply's head is there as a whole. False: the handle says what is wrong. */
static bool note_head(struct curl_handle *handle)
{
	struct curl_transfer *transfer = handle->transfer;
	struct http_call *call = transfer->call;
	size_t head_bytes;

	if (transfer->has_head)
		return true;
	transfer->has_head = true;
	transfer->most_body_bytes = call->max_reply_bytes;
	if (!call->keep_headers)
		return true;
	head_bytes = curl_fields_bytes(handle->easy);
	handle->is_too_long = head_bytes > call->max_reply_bytes;
	if (handle->is_too_long)
		return false;
	transfer->most_body_bytes -= head_bytes;
	handle->out_of_memory = curl_fields_keep(handle->easy, call) < 0;
	return !handle->out_of_memory;
}

/* Counts what is left after decompression, which happens a piece at a time: a small reply that
 * expands to a huge one is cut short like any other. */
static size_t receive(char *bytes, size_t size, size_t count, void *arg)
{
	struct curl_handle *handle = arg;
	struct http_call *call = handle->transfer->call;
	size_t length = size * count;

	if (!note_head(handle))
		return CURL_WRITEFUNC_ERROR;
	if (length > handle->transfer->most_body_bytes - call->reply_len) {
		handle->is_too_long = true;
		return CURL_WRITEFUNC_ERROR;
	}
	if (!call->count_only) {
		if (!make_room(handle, call->reply_len + length + 1))
			return CURL_WRITEFUNC_ERROR;
		memcpy(call->reply + call->reply_len, bytes, length);
		call->reply[call->reply_len + length] = '\0';
	}
	call->reply_len += length;
	return length;
}

/* HTTP/2 is agreed upon during the TLS handshake. While one is under way to the same host, PIPEWAIT
 * makes further calls wait for what comes of it, instead of opening a connection each. */
static CURLcode set_version(CURL *easy, bool is_multiplexed)
{
	long version = is_multiplexed ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1;
	CURLcode code = curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, version);

	return code == CURLE_OK ? curl_easy_setopt(easy, CURLOPT_PIPEWAIT, (long)is_multiplexed)
	                        : code;
}

/*
 * Every option below is one that this libcurl has (curl_client_create() sees to
 * it that there is HTTP, and OpenSSL), so only memory can be missing.
 */
static CURLcode set_lasting_options(struct curl_handle *handle)
{
	CURL *easy = handle->easy;
	CURLcode codes[] = {
		curl_easy_setopt(easy, CURLOPT_PRIVATE, handle),
		curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive),
		curl_easy_setopt(easy, CURLOPT_WRITEDATA, handle),
		curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, curl_head_receive),
		curl_easy_setopt(easy, CURLOPT_HEADERDATA, &handle->head),
		curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L),
		curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)READ_BUFFER),
		curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https"),
		curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L),
		curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
	                         (long)handle->settings->connect_timeout_ms),
		curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, (long)KEEP_ADDRESSES_S),
		/* What is not in the call does not change it: the environment's proxies,
	         * ~/.netrc, redirects to elsewhere, encodings that expand. */
		curl_easy_setopt(easy, CURLOPT_PROXY, ""),
		curl_easy_setopt(easy, CURLOPT_NOPROXY, "*"),
		curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED),
		curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L),
		curl_easy_setopt(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L),
		curl_easy_setopt(easy, CURLOPT_USERAGENT, "fanoutd/" FANOUTD_VERSION),
		set_version(easy, false),
		curl_tls_apply(&handle->settings->tls, easy),
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i] != CURLE_OK)
			return codes[i];
	return CURLE_OK;
}

int curl_handle_create(const struct curl_settings *settings, struct curl_handle **out)
{
	struct curl_handle *handle = calloc(1, sizeof(*handle));

	if (!handle)
		return -ENOMEM;
	handle->settings = settings;
	handle->resolve.data = handle->resolve_text;
	handle->easy = curl_easy_init();
	if (!handle->easy || set_lasting_options(handle) != CURLE_OK) {
		curl_handle_destroy(handle);
		return -ENOMEM;
	}
	*out = handle;
	return 0;
}

void curl_handle_destroy(struct curl_handle *handle)
{
	if (!handle)
		return;
	curl_easy_cleanup(handle->easy);
	free(handle->fields);
	free(handle);
}

/*
 * Hand over the addresses, so that libcurl never looks a name up: its own lookup
 * is a thread each, and removing the transfer would wait for it.
 *
 * An entry goes to the multi's cache, where it replaces the one before. Without
 * the '+' it would stay there for ever, one for each name ever called; with it,
 * it goes KEEP_ADDRESSES_S later. That is long because libcurl looks into the
 * cache again when it has to repeat a request on a new connection.
 *
 * 7.88 goes on to the next address when one refuses. After one that stays silent
 * it forgets to start with the next, and the connect timeout ends the call.
 */
static CURLcode set_addresses(struct curl_handle *handle, const struct curl_transfer *transfer)
{
	int length;

	if (!transfer->addresses)
		return curl_easy_setopt(handle->easy, CURLOPT_RESOLVE, NULL);
	length = snprintf(handle->resolve_text, sizeof(handle->resolve_text), "+%.*s:%u:%s",
	                  (int)transfer->host->name_len, transfer->host->name,
	                  (unsigned)transfer->host->port, transfer->addresses);

	if (length < 0 || (size_t)length >= sizeof(handle->resolve_text))
		return CURLE_COULDNT_RESOLVE_HOST;
	return curl_easy_setopt(handle->easy, CURLOPT_RESOLVE, &handle->resolve);
}

static bool is_one_of(const char *method, const char *const *methods)
{
	while (*methods && strcmp(*methods, method) != 0)
		methods++;
	return *methods;
}

/* No wait for "100 Continue", and no claim about a type that we know nothing of. */
static char no_type_text[] = "Content-Type:", no_expect_text[] = "Expect:";
static struct curl_slist no_type = {.data = no_type_text};
static struct curl_slist body_headers = {.data = no_expect_text, .next = &no_type};

static bool has_body(const struct http_call *call, const char *method)
{
	static const char *const with_body[] = {"POST", "PUT", "PATCH", NULL};

	return call->body_len > 0 || is_one_of(method, with_body);
}

static CURLcode set_headers(struct curl_handle *handle, const struct http_call *call,
                            const char *method)
{
	struct curl_slist *list = has_body(call, method) ? &body_headers : NULL;

	if (call->header_count > 0) {
		list = handle->fields = curl_fields_of_call(call, list);
		if (!list)
			return CURLE_OUT_OF_MEMORY;
	}
	return list ? curl_easy_setopt(handle->easy, CURLOPT_HTTPHEADER, list) : CURLE_OK;
}

/*
 * Anything but a plain GET. When a kept connection turns out dead, libcurl
 * repeats the request on a new one, whatever its method; a request that must not
 * be made twice therefore gets a new connection to begin with.
 */
static CURLcode set_method(CURL *easy, const struct http_call *call, const char *method)
{
	CURLcode code = CURLE_OK;

	if (strcmp(method, "HEAD") == 0)
		return curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
	if (has_body(call, method)) {
		code = curl_easy_setopt(easy, CURLOPT_POSTFIELDS, call->body ? call->body : "");
		if (code == CURLE_OK)
			code = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
			                        (curl_off_t)call->body_len);
	}
	if (code == CURLE_OK)
		code = curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
	if (code == CURLE_OK && !http_call_is_repeatable(call))
		code = curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
	return code;
}

/* Not all that this libcurl knows: "br" and "zstd" depend on how it was built. */
static CURLcode set_compressed(CURL *easy)
{
	CURLcode code = curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip, deflate");

	return code == CURLE_OK ? curl_easy_setopt(easy, CURLOPT_HTTP_CONTENT_DECODING, 1L) : code;
}

/* The length that answers a HEAD announces is of what is not sent, and that of a compressed reply
 * is not what is limited. */
static curl_off_t most_bytes(const struct http_call *call, const char *method)
{
	bool is_unlimited = call->max_reply_bytes > (size_t)INT64_MAX || call->accepts_compressed ||
	                    strcmp(method, "HEAD") == 0;

	return is_unlimited ? 0 : (curl_off_t)call->max_reply_bytes;
}

CURLcode curl_handle_prepare(struct curl_handle *handle, struct curl_transfer *transfer)
{
	const struct http_call *call = transfer->call;
	const char *method = call->method ? call->method : "GET";
	CURLcode code = curl_easy_setopt(handle->easy, CURLOPT_URL, call->url);

	handle->transfer = transfer;
	handle->shortage = 0;
	handle->out_of_memory = false;
	handle->is_too_long = false;
	handle->has_refused = false;
	handle->head = (struct curl_head){0};
	if (code == CURLE_OK)
		code = curl_easy_setopt(handle->easy, CURLOPT_MAXFILESIZE_LARGE,
		                        most_bytes(call, method));
	if (code == CURLE_OK)
		code = set_addresses(handle, transfer);
	if (code == CURLE_OK && handle->settings->http2)
		code = set_version(handle->easy, curl_transfer_is_multiplexed(transfer));
	if (code == CURLE_OK && call->accepts_compressed) {
		handle->needs_reset = true;
		code = set_compressed(handle->easy);
	}
	if (code == CURLE_OK && (call->body_len > 0 || strcmp(method, "GET") != 0)) {
		handle->needs_reset = true;
		code = set_method(handle->easy, call, method);
	}
	if (code == CURLE_OK)
		code = set_headers(handle, call, method);
	return code;
}

static enum http_failure failure_of(struct curl_handle *handle, CURLcode code)
{
	struct curl_ending ending = {.code = code, .is_tls = handle->transfer->host->is_tls};
	long system_error = 0, request_bytes = 0;

	if (handle->out_of_memory)
		return HTTP_FD_LIMIT;
	if (handle->is_too_long)
		return HTTP_TOO_LARGE;
	if (handle->head.is_too_long)
		return HTTP_PROTOCOL;
	(void)curl_easy_getinfo(handle->easy, CURLINFO_OS_ERRNO, &system_error);
	(void)curl_easy_getinfo(handle->easy, CURLINFO_REQUEST_SIZE, &request_bytes);
	ending.system_error = handle->shortage ? handle->shortage : (int)system_error;
	ending.request_sent = request_bytes > 0;
	return curl_failure(&ending);
}

static const char *reason_of(struct curl_handle *handle, CURLcode code)
{
	switch (handle->transfer->failure) {
	case HTTP_OK:
		return NULL;
	case HTTP_FD_LIMIT:
		return handle->shortage ? "no file descriptor left" : "out of memory";
	case HTTP_TOO_LARGE:
		return "the reply is longer than allowed";
	case HTTP_TLS:
		return curl_tls_reason(handle->easy, code);
	case HTTP_PROTOCOL:
		if (handle->head.is_too_long)
			return "its head is too long";
		return curl_easy_strerror(code);
	case HTTP_CONNECT:
		if (handle->has_refused)
			return HTTP_ADDRESS_NOT_ALLOWED;
		return curl_easy_strerror(code);
	default:
		return curl_easy_strerror(code);
	}
}

void curl_handle_note_reply(struct curl_handle *handle, CURLcode code)
{
	curl_off_t first_byte_us = 0;

	(void)curl_easy_getinfo(handle->easy, CURLINFO_STARTTRANSFER_TIME_T, &first_byte_us);
	/* The end of a connection counts as a first byte. */
	handle->transfer->call->replied = first_byte_us > 0 && code != CURLE_GOT_NOTHING;
}

void curl_handle_conclude(struct curl_handle *handle, CURLcode code)
{
	struct curl_transfer *transfer = handle->transfer;
	struct http_call *call = transfer->call;
	long status = 0;

	if (code == CURLE_OK &&
	    (!note_head(handle) || (!call->count_only && !make_room(handle, 1))))
		code = CURLE_OUT_OF_MEMORY;
	transfer->failure = failure_of(handle, code);
	transfer->reason = reason_of(handle, code);
	curl_handle_note_reply(handle, code);
	if (transfer->failure != HTTP_OK)
		return;

	(void)curl_easy_getinfo(handle->easy, CURLINFO_RESPONSE_CODE, &status);
	call->status = (int)status;
	if (http_asks_for_patience(call->status))
		curl_fields_note_retry_after(handle->easy, call);
	if (call->reply)
		call->reply[call->reply_len] = '\0';
}

bool curl_handle_release(struct curl_handle *handle, CURLcode code)
{
	long system_error = 0;

	handle->transfer = NULL;
	if (handle->fields) {
		(void)curl_easy_setopt(handle->easy, CURLOPT_HTTPHEADER, NULL);
		free(handle->fields);
		handle->fields = NULL;
	}
	/* libcurl never clears an errno that it has once reported. */
	(void)curl_easy_getinfo(handle->easy, CURLINFO_OS_ERRNO, &system_error);
	if (code != CURLE_OK || system_error != 0)
		return false;
	if (!handle->needs_reset)
		return true;
	handle->needs_reset = false;
	curl_easy_reset(handle->easy);
	return set_lasting_options(handle) == CURLE_OK;
}
