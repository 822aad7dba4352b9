#include "clients/upstream_set.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "clients/guarded_upstream.h"

struct member {
	struct named_upstream named; /* first; points into @guarded */
	struct guarded_upstream *guarded;
	size_t index; /* in the options */
};

struct upstream_set {
	atomic_uint references; /* release on the way down, acquire by the last, who frees */

	/* Constant from here on. */
	struct url_pattern *patterns; /* owned */
	struct url_allow allow;       /* of these */
	bool has_absolute;            /* it is the last member */
	size_t count;
	struct member members[]; /* sorted by name */
};

/* ------ looking up */

static int compare_names(const char *a, const char *b)
{
	if (!a || !b)
		return (a != NULL) - (b != NULL);
	return strcmp(a, b);
}

static int compare_with_member(const void *name, const void *member)
{
	return compare_names(*(const char *const *)name,
	                     ((const struct member *)member)->named.name);
}

static int compare_members(const void *a, const void *b)
{
	return compare_names(((const struct member *)a)->named.name,
	                     ((const struct member *)b)->named.name);
}

static size_t named_count(const struct upstream_set *set)
{
	return set->count - set->has_absolute;
}

static const struct member *find_member(const struct upstream_set *set, const char *name)
{
	return bsearch(&name, set->members, named_count(set), sizeof(set->members[0]),
	               compare_with_member);
}

static const struct member *find_absolute(const struct upstream_set *set)
{
	return set->has_absolute ? &set->members[set->count - 1] : NULL;
}

const struct named_upstream *upstream_set_find(const struct upstream_set *set, const char *name)
{
	const struct member *member = find_member(set, name);

	return member ? &member->named : NULL;
}

int upstream_set_find_absolute(const struct upstream_set *set, const char *url,
                               const struct named_upstream **out, const char **reason)
{
	const struct member *member = find_absolute(set);
	int error = url_allow_check(&set->allow, url, reason);

	if (error < 0)
		return error;
	assert(member);
	*out = &member->named;
	return 0;
}

size_t upstream_set_count(const struct upstream_set *set)
{
	return set->count;
}

const struct named_upstream *upstream_set_at(const struct upstream_set *set, size_t index)
{
	assert(index < set->count);
	return &set->members[index].named;
}

const struct upstream_settings *upstream_set_settings_at(const struct upstream_set *set,
                                                         size_t index)
{
	assert(index < set->count);
	return set->members[index].guarded->settings;
}

void upstream_set_stats_at(const struct upstream_set *set, size_t index, struct upstream_stats *out)
{
	assert(index < set->count);
	guarded_upstream_stats(set->members[index].guarded, out);
}

/* ------ making one */

/* Take @wanted over from the set before, or make it anew. */
static int obtain(const struct upstream_set_options *options,
                  const struct upstream_settings *wanted, uint64_t seed,
                  struct guarded_upstream **out)
{
	const struct member *before = NULL;

	if (options->previous)
		before = wanted == options->absolute ? find_absolute(options->previous)
		                                     : find_member(options->previous, wanted->name);
	if (!before || !guarded_upstream_is(before->guarded, wanted, options->wire))
		return guarded_upstream_create(wanted, options->wire, seed,
		                               before ? before->guarded : NULL, out);
	guarded_upstream_acquire(before->guarded);
	*out = before->guarded;
	return 0;
}

static int add_member(struct upstream_set *set, const struct upstream_set_options *options,
                      const struct upstream_settings *wanted)
{
	bool is_absolute = wanted == options->absolute;
	struct guarded_upstream *guarded;
	int error = obtain(options, wanted, options->seed + set->count, &guarded);

	if (error < 0)
		return error;
	set->members[set->count] = (struct member){
		.named = {.name = guarded->settings->name,
	                  .origin = guarded->origin,
	                  .client = guarded->client,
	                  .timeout_ms = guarded->settings->timeout_ms,
	                  .headers = guarded->settings->headers,
	                  .header_count = guarded->settings->header_count,
	                  .addresses = is_absolute ? &address_policy_public : NULL},
		.guarded = guarded,
		.index = set->count,
	};
	set->count++;
	return 0;
}

static int sort_members(struct upstream_set *set, size_t *faulty)
{
	size_t count = named_count(set);

	qsort(set->members, count, sizeof(set->members[0]), compare_members);
	for (size_t i = 1; i < count; i++) {
		const struct member *a = &set->members[i - 1], *b = &set->members[i];

		if (compare_members(a, b) != 0)
			continue;
		*faulty = a->index > b->index ? a->index : b->index;
		return -EEXIST;
	}
	return 0;
}

static int copy_allow(struct upstream_set *set, const struct url_allow *allow)
{
	size_t bytes = allow->count * sizeof(*allow->patterns);

	if (bytes == 0)
		return 0;
	set->patterns = malloc(bytes);
	if (!set->patterns)
		return -ENOMEM;
	memcpy(set->patterns, allow->patterns, bytes);
	set->allow = (struct url_allow){.patterns = set->patterns, .count = allow->count};
	return 0;
}

static int fill(struct upstream_set *set, const struct upstream_set_options *options,
                size_t *faulty)
{
	int error = copy_allow(set, &options->allow);

	for (size_t i = 0; error == 0 && i < options->count; i++) {
		*faulty = i;
		error = add_member(set, options, &options->upstreams[i]);
	}
	if (error == 0 && options->absolute) {
		*faulty = options->count;
		error = add_member(set, options, options->absolute);
		set->has_absolute = error == 0;
	}
	return error == 0 ? sort_members(set, faulty) : error;
}

int upstream_set_create(const struct upstream_set_options *options, struct upstream_set **out,
                        size_t *faulty)
{
	struct upstream_set *set =
		calloc(1, sizeof(*set) + (options->count + 1) * sizeof(set->members[0]));
	int error;

	assert(options->allow.count == 0 || options->absolute);
	*faulty = 0;
	if (!set)
		return -ENOMEM;
	atomic_init(&set->references, 1);
	error = fill(set, options, faulty);
	if (error < 0) {
		upstream_set_release(set);
		return error;
	}
	/* Nothing can go wrong any more. */
	for (size_t i = 0; i < set->count; i++)
		guarded_upstream_take_over(set->members[i].guarded);
	*out = set;
	return 0;
}

/* ------ references */

struct upstream_set *upstream_set_acquire(struct upstream_set *set)
{
	atomic_fetch_add_explicit(&set->references, 1, memory_order_relaxed);
	return set;
}

void upstream_set_release(struct upstream_set *set)
{
	if (!set || atomic_fetch_sub_explicit(&set->references, 1, memory_order_acq_rel) > 1)
		return;
	for (size_t i = 0; i < set->count; i++)
		guarded_upstream_release(set->members[i].guarded);
	free(set->patterns);
	free(set);
}

void upstream_holder_init(struct upstream_holder *holder, struct upstream_set *set)
{
	pthread_mutex_init(&holder->lock, NULL);
	holder->current = set;
}

void upstream_holder_finish(struct upstream_holder *holder)
{
	upstream_set_release(holder->current);
	pthread_mutex_destroy(&holder->lock);
}

struct upstream_set *upstream_holder_acquire(struct upstream_holder *holder)
{
	struct upstream_set *set;

	pthread_mutex_lock(&holder->lock);
	set = upstream_set_acquire(holder->current);
	pthread_mutex_unlock(&holder->lock);
	return set;
}

void upstream_holder_swap(struct upstream_holder *holder, struct upstream_set *set)
{
	struct upstream_set *before;

	pthread_mutex_lock(&holder->lock);
	before = holder->current;
	holder->current = set;
	pthread_mutex_unlock(&holder->lock);
	upstream_set_release(before);
}
