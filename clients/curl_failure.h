#ifndef CLIENTS_CURL_FAILURE_H
#define CLIENTS_CURL_FAILURE_H

#include <curl/curl.h>
#include <stdbool.h>

#include "clients/http_client.h"

/* What is known of a transfer that libcurl has ended. */
struct curl_ending {
	CURLcode code;
	int system_error;  /* errno behind it, CURLINFO_OS_ERRNO; 0 if there is none */
	bool is_tls;       /* an https URL */
	bool request_sent; /* at least a part of it */
};

/** What users see for @ending; written for libcurl 7.88 (see the cases). Any thread. */
enum http_failure curl_failure(const struct curl_ending *ending);

#endif
