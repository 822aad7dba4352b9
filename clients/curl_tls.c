#include "clients/curl_tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <stdio.h>

static int load(X509_STORE *store, const char *ca_file)
{
	FILE *file;

	if (!ca_file)
		return X509_STORE_set_default_paths(store) == 1 ? 0 : -ENOMEM;
	file = fopen(ca_file, "re");
	if (!file)
		return -errno;
	(void)fclose(file);
	return X509_STORE_load_file(store, ca_file) == 1 ? 0 : -EBADMSG;
}

/* OpenSSL works out what the extensions of a certificate mean when it first needs them, and keeps
 * that in it. Do it now, so that connections, on any thread, only read what is shared. */
static void read_extensions(X509_STORE *store)
{
	STACK_OF(X509_OBJECT) *objects = X509_STORE_get0_objects(store);

	for (int i = 0; i < sk_X509_OBJECT_num(objects); i++) {
		X509 *certificate = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(objects, i));

		if (certificate)
			(void)X509_check_purpose(certificate, -1, 0);
	}
}

int curl_tls_init(struct curl_tls *tls, const char *ca_file, bool insecure)
{
	X509_STORE *store;
	int error;

	tls->trusted = NULL;
	if (insecure)
		return 0;
	store = X509_STORE_new();
	if (!store)
		return -ENOMEM;
	error = load(store, ca_file);
	/* Like libcurl: an intermediate certificate that is trusted ends a chain. */
	if (error == 0 && X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN) != 1)
		error = -ENOMEM;
	read_extensions(store);
	ERR_clear_error();
	if (error < 0) {
		X509_STORE_free(store);
		return error;
	}
	tls->trusted = store;
	return 0;
}

void curl_tls_finish(struct curl_tls *tls)
{
	X509_STORE_free(tls->trusted);
	tls->trusted = NULL;
}

/* CURLOPT_SSL_CTX_FUNCTION, for each new connection. */
static CURLcode share_trusted(CURL *easy, void *context, void *trusted)
{
	(void)easy;
	SSL_CTX_set1_cert_store(context, trusted);
	return CURLE_OK;
}

CURLcode curl_tls_apply(const struct curl_tls *tls, CURL *easy)
{
	long is_verified = tls->trusted != NULL;
	CURLcode codes[] = {
		curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, is_verified),
		curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, is_verified ? 2L : 0L),
		/* Not those of libcurl's own choice. */
		curl_easy_setopt(easy, CURLOPT_CAINFO, NULL),
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL),
		curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION,
	                         is_verified ? share_trusted : NULL),
		curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, tls->trusted),
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i] != CURLE_OK)
			return codes[i];
	return CURLE_OK;
}

const char *curl_tls_reason(CURL *easy, CURLcode code)
{
	long result = X509_V_OK;

	if (code != CURLE_PEER_FAILED_VERIFICATION)
		return curl_easy_strerror(code);
	(void)curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &result);
	/* libcurl looks at the name by itself, before it takes OpenSSL's result over. */
	if (result == X509_V_OK || result == X509_V_ERR_UNSPECIFIED)
		return "the certificate is for another host";
	return X509_verify_cert_error_string(result);
}
