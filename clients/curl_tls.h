#ifndef CLIENTS_CURL_TLS_H
#define CLIENTS_CURL_TLS_H

#include <curl/curl.h>
#include <stdbool.h>

/*
 * Which servers the curl client believes to be who they say they are.
 *
 * The trusted certificates are loaded once and shared by all connections. Left to
 * itself, Debian's libcurl loads them for each: 30 ms of CPU, every time.
 */
struct curl_tls {
	struct x509_store_st *trusted; /* NULL: nothing is verified */
};

/**
 * Trust the certificates in the PEM file @ca_file and no others; NULL: the system's,
 * which OpenSSL finds by itself (SSL_CERT_FILE and SSL_CERT_DIR, else where the
 * package ca-certificates puts them). @insecure: verify nothing at all.
 *
 * Returns 0; -EBADMSG there is no certificate in @ca_file; why it cannot be opened, such as
 * -ENOENT; -ENOMEM. Any thread; reads the file.
 */
int curl_tls_init(struct curl_tls *tls, const char *ca_file, bool insecure);

/** No connection is being opened any more. Fine on a zeroed one. */
void curl_tls_finish(struct curl_tls *tls);

/** Have @easy verify servers as @tls says, which it borrows. Not CURLE_OK: out of memory, or this
 * libcurl was built without OpenSSL. */
CURLcode curl_tls_apply(const struct curl_tls *tls, CURL *easy);

/** Why TLS has failed with @code: static text. @easy has just ended with it. */
const char *curl_tls_reason(CURL *easy, CURLcode code);

#endif
