#include "clients/curl_failure.h"

#include <errno.h>

#include "tests/with_cmocka.h"

static void assert_failure(struct curl_ending ending, const char *name)
{
	assert_string_equal(http_failure_name(curl_failure(&ending)), name);
}

static void a_failed_connect_is_told_by_its_errno(void **state)
{
	(void)state;
	assert_failure((struct curl_ending){CURLE_COULDNT_CONNECT, ECONNREFUSED}, "connect");
	assert_failure((struct curl_ending){CURLE_COULDNT_CONNECT, EHOSTUNREACH}, "connect");
	assert_failure((struct curl_ending){CURLE_COULDNT_CONNECT, ENETUNREACH}, "connect");
	assert_failure((struct curl_ending){CURLE_COULDNT_CONNECT, EADDRNOTAVAIL}, "connect");
	assert_failure((struct curl_ending){CURLE_COULDNT_CONNECT, ETIMEDOUT}, "timeout");
	assert_failure((struct curl_ending){CURLE_COULDNT_CONNECT, EMFILE}, "fd_limit");
	assert_failure((struct curl_ending){CURLE_COULDNT_CONNECT, ENFILE}, "fd_limit");
	assert_failure((struct curl_ending){CURLE_COULDNT_CONNECT, ENOSPC}, "fd_limit");
	assert_failure((struct curl_ending){CURLE_OPERATION_TIMEDOUT}, "timeout");
}

static void a_failed_read_with_an_errno_is_a_reset(void **state)
{
	(void)state;
	assert_failure((struct curl_ending){CURLE_RECV_ERROR, ECONNRESET}, "reset");
	assert_failure((struct curl_ending){CURLE_RECV_ERROR, ECONNRESET, .is_tls = true}, "reset");
	assert_failure((struct curl_ending){CURLE_SEND_ERROR, EPIPE}, "reset");
	assert_failure((struct curl_ending){CURLE_GOT_NOTHING}, "reset");
	assert_failure((struct curl_ending){CURLE_PARTIAL_FILE}, "reset");
}

static void a_failed_read_without_one_is_a_protocol_error_unless_over_tls(void **state)
{
	(void)state;
	assert_failure((struct curl_ending){CURLE_RECV_ERROR}, "protocol");
	assert_failure((struct curl_ending){CURLE_RECV_ERROR, ECONNREFUSED}, "protocol");
	assert_failure((struct curl_ending){CURLE_RECV_ERROR, .is_tls = true}, "reset");
}

static void want_of_memory_after_the_request_is_an_endless_header(void **state)
{
	(void)state;
	assert_failure((struct curl_ending){CURLE_OUT_OF_MEMORY}, "fd_limit");
	assert_failure((struct curl_ending){CURLE_OUT_OF_MEMORY, .request_sent = true}, "protocol");
}

static void the_rest_goes_by_the_code(void **state)
{
	(void)state;
	assert_failure((struct curl_ending){CURLE_OK}, "ok");
	assert_failure((struct curl_ending){CURLE_COULDNT_RESOLVE_HOST}, "dns");
	assert_failure((struct curl_ending){CURLE_FILESIZE_EXCEEDED}, "too_large");
	assert_failure((struct curl_ending){CURLE_HTTP2_STREAM}, "reset");
	assert_failure((struct curl_ending){CURLE_HTTP2}, "protocol");
	assert_failure((struct curl_ending){CURLE_BAD_CONTENT_ENCODING}, "protocol");
	assert_failure((struct curl_ending){CURLE_WRITE_ERROR}, "protocol"); /* of the decoder */
	assert_failure((struct curl_ending){CURLE_PEER_FAILED_VERIFICATION}, "tls");
	assert_failure((struct curl_ending){CURLE_SSL_CONNECT_ERROR}, "tls");
	assert_failure((struct curl_ending){CURLE_UNSUPPORTED_PROTOCOL}, "protocol");
	assert_failure((struct curl_ending){CURLE_WEIRD_SERVER_REPLY}, "protocol");
	assert_failure((struct curl_ending){CURLE_URL_MALFORMAT}, "protocol");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failed_connect_is_told_by_its_errno),
		cmocka_unit_test(a_failed_read_with_an_errno_is_a_reset),
		cmocka_unit_test(a_failed_read_without_one_is_a_protocol_error_unless_over_tls),
		cmocka_unit_test(want_of_memory_after_the_request_is_an_endless_header),
		cmocka_unit_test(the_rest_goes_by_the_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
