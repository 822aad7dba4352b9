#ifndef CLIENTS_CURL_FIELDS_H
#define CLIENTS_CURL_FIELDS_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

#include "clients/http_client.h"

/* The headers of a call as libcurl has them. On the carrier. */

/** What has come of a reply's headers. Zero it before the call. */
struct curl_head {
	size_t bytes;
	unsigned lines;
	bool is_too_long;
};

/**
 * For CURLOPT_HEADERFUNCTION, with a struct curl_head: end the call once there is more than
 * http_reply_headers.h allows, interim replies and trailers included. libcurl keeps all of them,
 * and walks all it has for each that it is asked for.
 */
size_t curl_head_receive(char *line, size_t size, size_t count, void *arg);

/**
 * Those that @call brings, for CURLOPT_HTTPHEADER, with @tail, which may be NULL, after them. One
 * block, for free(); the call's texts are copied, @tail is borrowed. NULL: no memory.
 */
struct curl_slist *curl_fields_of_call(const struct http_call *call, struct curl_slist *tail);

/** What those of the reply to @easy count as a part of it: see max_reply_bytes. */
size_t curl_fields_bytes(CURL *easy);

/** Copy them to @call as its reply's headers. Returns 0 or -ENOMEM. */
int curl_fields_keep(CURL *easy, struct http_call *call);

/** Note in @call when to try again, if they say so. */
void curl_fields_note_retry_after(CURL *easy, struct http_call *call);

#endif
