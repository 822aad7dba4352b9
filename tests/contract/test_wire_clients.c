#include "clients/wire_clients.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/contract/upstream_set_fixture.h"

/* The clients that upstreams share, and when one needs another. */

static void upstreams_that_are_spoken_to_alike_share_a_client(void **state)
{
	struct wire_settings settings = {.connect_timeout_ms = 1000},
			     slow = {.connect_timeout_ms = 9};
	struct http_client *first, *same, *patient, *tls;

	(void)state;
	assert_int_equal(wire_clients_find(wire, &settings, false, &first), 0);
	assert_int_equal(wire_clients_find(wire, &slow, false, &patient), 0);
	assert_int_equal(wire_clients_find(wire, &settings, true, &tls), 0);
	settings.insecure = true; /* which makes no difference to http:// */
	assert_int_equal(wire_clients_find(wire, &settings, false, &same), 0);
	assert_ptr_equal(same, first);
	assert_ptr_not_equal(patient, first);
	assert_int_equal(wire_clients_find(wire, &settings, true, &same), 0);
	assert_ptr_not_equal(same, tls);
	wire_clients_tick(wire);
}

static struct http_client *find_by(enum wire_protocol protocol, bool is_tls, int expected)
{
	struct wire_settings settings = {.connect_timeout_ms = 1000};
	struct http_client *client = NULL;

	wire_clients_destroy(wire);
	assert_int_equal(wire_clients_create(&(struct wire_clients_options){.protocol = protocol,
	                                                                    .resolver = resolver},
	                                     &wire),
	                 0);
	assert_int_equal(wire_clients_find(wire, &settings, is_tls, &client), expected);
	return client;
}

static void the_protocol_that_is_wanted_is_spoken(void **state)
{
	(void)state;
	assert_string_equal(find_by(WIRE_HTTP1, false, 0)->ops->name, "http1");
	assert_string_equal(find_by(WIRE_CURL, false, 0)->ops->name, "curl");
	assert_string_equal(find_by(WIRE_CURL, true, 0)->ops->name, "curl");
	assert_null(find_by(WIRE_HTTP1, true, -EPROTONOSUPPORT));
}

static int call_without_room(void *arg)
{
	struct http_call call = {.url = "http://127.0.0.1:1/", .max_reply_bytes = 1};
	enum http_failure failure = http_call(arg, &call, deadline_in_ms(1));

	return failure == HTTP_TIMEOUT ? (int)call.attempts : -1;
}

/* So that it tells a breaker nothing of the upstream. */
static void a_call_that_waits_for_room_in_vain_is_no_attempt(void **state)
{
	struct wire_settings settings = {.connect_timeout_ms = 1000};
	struct connection_gate gate = {0};

	(void)state;
	connection_gate_init(&gate, 1);
	assert_true(connection_gate_take(&gate));
	for (enum wire_protocol protocol = WIRE_HTTP1; protocol <= WIRE_CURL; protocol++) {
		struct executor *executor = start_executor(1);
		struct wire_clients *clients;
		struct http_client *client;

		assert_int_equal(wire_clients_create(
					 &(struct wire_clients_options){protocol, resolver, &gate},
					 &clients),
		                 0);
		assert_int_equal(wire_clients_find(clients, &settings, false, &client), 0);
		assert_int_equal(run_in_task(executor, call_without_room, client), 0);
		executor_destroy(executor);
		wire_clients_destroy(clients);
	}
	connection_gate_leave(&gate);
	connection_gate_finish(&gate);
}

/* Of nobody: its key is not kept. */
static const char certificate[] =
	"-----BEGIN CERTIFICATE-----\n"
	"MIIBdTCCARugAwIBAgIUcahZyPMYT3P7F4o5LdHCTPEoKl4wCgYIKoZIzj0EAwIw\n"
	"DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMzAxNzM2MjNaGA8yMTI2MTEwNjE3MzYy\n"
	"M1owDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABIrx\n"
	"NR0ajLbuLIAUJICQ97uBzB6ToTXIAvmHfxEQjCF15eRyQ1LJvQG8oQ+F23woy5JH\n"
	"Q3afIO4Lb+RbIEG5fWOjUzBRMB0GA1UdDgQWBBSiLa3ddtHt3M787g9dmG57faxA\n"
	"wTAfBgNVHSMEGDAWgBSiLa3ddtHt3M787g9dmG57faxAwTAPBgNVHRMBAf8EBTAD\n"
	"AQH/MAoGCCqGSM49BAMCA0gAMEUCIEMyexnAAgknLEcGbcRqDWl6+6VsxnPokDu3\n"
	"nUVwbn7oAiEA2qe78R1N+WvzxEHnbKDP2W5gZVgRsN0/TThX71K85u8=\n"
	"-----END CERTIFICATE-----\n";

static void write_file(const char *path, const char *comment, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(comment, file) >= 0 && fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void a_reload_reads_certificates_that_have_changed(void **state)
{
	char path[] = "/tmp/fanoutd-test-XXXXXX";
	struct upstream_settings upstream = named("a", "https://a");
	struct upstream_set *first, *same, *changed;
	int fd = mkstemp(path);
	size_t faulty;

	(void)state;
	assert_true(fd >= 0);
	(void)close(fd);
	write_file(path, "first\n", certificate);
	upstream.wire.ca_file = path;
	first = create_set(&upstream, 1, NULL);
	same = create_set(&upstream, 1, first);
	assert_ptr_equal(upstream_set_find(same, "a")->client,
	                 upstream_set_find(first, "a")->client);
	write_file(path, "broken", "");
	assert_int_equal(upstream_set_create(&(struct upstream_set_options){.upstreams = &upstream,
	                                                                    .count = 1,
	                                                                    .wire = wire,
	                                                                    .previous = first},
	                                     &changed, &faulty),
	                 -EBADMSG);
	write_file(path, "renewed\n", certificate);
	changed = create_set(&upstream, 1, first);
	assert_ptr_not_equal(upstream_set_find(changed, "a")->client,
	                     upstream_set_find(first, "a")->client);
	assert_int_equal(unlink(path), 0);
	upstream_set_release(first);
	upstream_set_release(same);
	upstream_set_release(changed);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test_setup_teardown(upstreams_that_are_spoken_to_alike_share_a_client,
	                                        start_wire, stop_wire),
		cmocka_unit_test_setup_teardown(the_protocol_that_is_wanted_is_spoken, start_wire,
	                                        stop_wire),
		cmocka_unit_test_setup_teardown(a_call_that_waits_for_room_in_vain_is_no_attempt,
	                                        start_wire, stop_wire),
		cmocka_unit_test_setup_teardown(a_reload_reads_certificates_that_have_changed,
	                                        start_wire, stop_wire),
	};

	return run_over_executor(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
