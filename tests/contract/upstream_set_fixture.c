#include "tests/contract/upstream_set_fixture.h"

struct resolver *resolver;
struct wire_clients *wire;

int start_wire(void **state)
{
	(void)state;
	assert_int_equal(resolver_create(&(struct resolver_options){.offload = lanes_for_tests()},
	                                 &resolver),
	                 0);
	return wire_clients_create(&(struct wire_clients_options){.resolver = resolver}, &wire);
}

int stop_wire(void **state)
{
	(void)state;
	wire_clients_destroy(wire);
	resolver_destroy(resolver);
	return 0;
}

struct upstream_settings named(const char *name, const char *url)
{
	return (struct upstream_settings){
		.name = name, .url = url, .wire.connect_timeout_ms = 1000};
}

struct upstream_set *create_set(const struct upstream_settings *upstreams, size_t count,
                                struct upstream_set *previous)
{
	struct upstream_set *set = NULL;
	size_t faulty;

	assert_int_equal(upstream_set_create(&(struct upstream_set_options){.upstreams = upstreams,
	                                                                    .count = count,
	                                                                    .wire = wire,
	                                                                    .previous = previous},
	                                     &set, &faulty),
	                 0);
	return set;
}
