#include "clients/curl_failure.h"

#include <errno.h>

#include "clients/http_fail.h"

static enum http_failure connect_failure(const struct curl_ending *ending)
{
	if (http_is_shortage(ending->system_error))
		return HTTP_FD_LIMIT;
	return ending->system_error == ETIMEDOUT ? HTTP_TIMEOUT : HTTP_CONNECT;
}

/*
 * A malformed chunk is a CURLE_RECV_ERROR too, but one without an errno. The
 * errno of an address that was tried in vain before this one may be left over.
 * Over TLS a connection that ends without a close_notify looks the same; there
 * it is the likelier cause.
 */
static enum http_failure receive_failure(const struct curl_ending *ending)
{
	bool failed_to_read = ending->system_error != 0 && ending->system_error != ECONNREFUSED;

	return failed_to_read || ending->is_tls ? HTTP_RESET : HTTP_PROTOCOL;
}

enum http_failure curl_failure(const struct curl_ending *ending)
{
	switch (ending->code) {
	case CURLE_OK:
		return HTTP_OK;
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
		return HTTP_DNS;
	case CURLE_COULDNT_CONNECT:
	case CURLE_INTERFACE_FAILED:
		return connect_failure(ending);
	case CURLE_OPERATION_TIMEDOUT:
		return HTTP_TIMEOUT;
	case CURLE_RECV_ERROR:
		return receive_failure(ending);
	case CURLE_SEND_ERROR:
	case CURLE_GOT_NOTHING:
	case CURLE_PARTIAL_FILE:
	case CURLE_HTTP2_STREAM: /* the server ended the stream, or the connection under it */
		return HTTP_RESET;
	case CURLE_FILESIZE_EXCEEDED:
		return HTTP_TOO_LARGE;
	case CURLE_OUT_OF_MEMORY:
		/* It also stands for a header line over 100 KiB. */
		return ending->request_sent ? HTTP_PROTOCOL : HTTP_FD_LIMIT;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_ENGINE_NOTFOUND:
	case CURLE_SSL_ENGINE_SETFAILED:
	case CURLE_SSL_ENGINE_INITFAILED:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_SHUTDOWN_FAILED:
	case CURLE_SSL_CRL_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
	case CURLE_SSL_INVALIDCERTSTATUS:
	case CURLE_SSL_CLIENTCERT:
	case CURLE_USE_SSL_FAILED:
		return HTTP_TLS;
	default:
		return HTTP_PROTOCOL;
	}
}
