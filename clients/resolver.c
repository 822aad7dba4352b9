#include "clients/resolver.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "clients/url_host.h"
#include "executors/task.h"

enum { BUCKETS = 256 };

/* A task that waits for a name; on its stack. */
struct waiter {
	struct task *task;
	struct waiter *next, **previous; /* lock */
	bool answered;                   /* lock */
};

/* Stays while it is being looked up or has waiters, else until it is the oldest. */
struct known_name {
	struct offload_job job; /* first; posted while @looking_up */
	struct resolver *resolver;
	struct known_name *next;          /* in its bucket; lock */
	struct waiter *waiters;           /* lock */
	bool looking_up;                  /* lock */
	bool is_refused;                  /* lock; nobody could look: there was no thread */
	struct deadline expires;          /* lock */
	struct resolver_answer answer;    /* lock */
	char name[URL_HOST_NAME_MAX + 1]; /* constant; lower case */
};

struct resolver {
	struct resolver_options options; /* constant */
	pthread_mutex_t lock;
	pthread_cond_t none_left;            /* @under_way has become 0 */
	struct known_name *buckets[BUCKETS]; /* lock */
	unsigned count;                      /* lock; names in the buckets */
	unsigned under_way;                  /* lock; of these, being looked up */
};

/* Add the address of @info to the list, unless it is full or has it already. */
static void append_address(const struct addrinfo *info, char *list)
{
	char text[INET6_ADDRSTRLEN + 3] = "[";
	size_t used = strlen(list), length;
	const void *address;
	bool is_v6 = info->ai_family == AF_INET6;

	if (is_v6)
		address = &((const struct sockaddr_in6 *)(const void *)info->ai_addr)->sin6_addr;
	else if (info->ai_family == AF_INET)
		address = &((const struct sockaddr_in *)(const void *)info->ai_addr)->sin_addr;
	else
		return;
	if (!inet_ntop(info->ai_family, address, text + is_v6, INET6_ADDRSTRLEN))
		return;
	length = strlen(text);
	if (is_v6)
		text[length++] = ']';
	if (used + 1 + length + 1 > RESOLVER_ADDRESSES_BYTES)
		return;
	if (used > 0)
		list[used++] = ',';
	memcpy(list + used, text, length);
	list[used + length] = '\0';
}

/* Without AI_ADDRCONFIG, which hides 127.0.0.1 where only the loopback interface is up. */
static void ask_system(const char *host, struct resolver_answer *answer)
{
	struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *list;
	int error = getaddrinfo(host, NULL, &hints, &list);

	answer->addresses[0] = '\0';
	answer->reason = NULL;
	if (error != 0) {
		answer->reason = gai_strerror(error);
		return;
	}
	for (const struct addrinfo *info = list; info; info = info->ai_next)
		append_address(info, answer->addresses);
	freeaddrinfo(list);
	if (answer->addresses[0] == '\0')
		answer->reason = "the name has no IPv4 or IPv6 address";
}

static void finish_locked(struct resolver *resolver, struct known_name *known,
                          const struct resolver_answer *answer)
{
	known->answer = *answer;
	known->looking_up = false;
	known->expires = deadline_in_ns(answer->reason ? resolver->options.keep_failed_ns
	                                               : resolver->options.keep_ns);
	/* Under the lock, which a waiter takes before it leaves: so none has gone yet. */
	for (struct waiter *waiter = known->waiters; waiter; waiter = waiter->next) {
		waiter->answered = true;
		task_wake(waiter->task);
	}
}

static void look_up_known(struct offload_job *job, int error)
{
	struct known_name *known = (struct known_name *)job;
	struct resolver *resolver = known->resolver;
	struct resolver_answer answer = {.reason = "no thread to look it up"};

	if (error == 0)
		resolver->options.look_up(known->name, &answer);
	pthread_mutex_lock(&resolver->lock);
	finish_locked(resolver, known, &answer);
	known->is_refused = error < 0;
	if (error < 0)
		known->expires = (struct deadline){0};
	if (--resolver->under_way == 0)
		pthread_cond_signal(&resolver->none_left);
	pthread_mutex_unlock(&resolver->lock);
}

static struct known_name **bucket_of(struct resolver *resolver, const char *name)
{
	return &resolver->buckets[url_host_hash(name, strlen(name), 0) % BUCKETS];
}

/* Forget the name that expires first, if one can be forgotten. */
static void forget_one_locked(struct resolver *resolver)
{
	struct known_name **oldest = NULL, *gone;

	for (size_t i = 0; i < BUCKETS; i++)
		for (struct known_name **at = &resolver->buckets[i]; *at; at = &(*at)->next)
			if (!(*at)->looking_up && !(*at)->waiters &&
			    (!oldest || (*at)->expires.ns < (*oldest)->expires.ns))
				oldest = at;
	if (!oldest)
		return;
	gone = *oldest;
	*oldest = gone->next;
	resolver->count--;
	free(gone);
}

static struct known_name *find_or_add_locked(struct resolver *resolver, const char *name)
{
	struct known_name **bucket = bucket_of(resolver, name), *known;

	for (known = *bucket; known; known = known->next)
		if (strcmp(known->name, name) == 0)
			return known;
	if (resolver->count >= resolver->options.max_names)
		forget_one_locked(resolver);
	if (resolver->count >= resolver->options.max_names)
		return NULL;
	known = calloc(1, sizeof(*known));
	if (!known)
		return NULL;
	known->job.run = look_up_known;
	known->resolver = resolver;
	memcpy(known->name, name, strlen(name) + 1);
	known->next = *bucket;
	*bucket = known;
	resolver->count++;
	return known;
}

/* See to it that @known, which has a waiter, is fresh or will be. Gives the lock up meanwhile.
 * True: it is. */
static bool refresh_locked(struct resolver *resolver, struct known_name *known)
{
	if (known->looking_up)
		return false;
	if (known->expires.ns > deadline_now_ns())
		return true;
	known->looking_up = true;
	resolver->under_way++;
	pthread_mutex_unlock(&resolver->lock);
	offload_post(resolver->options.offload, OFFLOAD_BLOCKING, &known->job);
	pthread_mutex_lock(&resolver->lock);
	return false;
}

/* Gives the lock up while waiting. @name is the caller's own copy. */
static int answer_locked(struct resolver *resolver, struct known_name *known, const char *name,
                         struct deadline deadline, struct resolver_answer *answer)
{
	struct waiter waiter = {.task = task_current(), .next = known->waiters};
	struct wait_site site = {
		.kind = WAIT_LOOKUP,
		.detail = (unsigned)strlen(name),
		.object = name,
	};
	int error = 0;

	waiter.previous = &known->waiters;
	if (waiter.next)
		waiter.next->previous = &waiter.next;
	known->waiters = &waiter;

	if (refresh_locked(resolver, known))
		waiter.answered = true;
	while (!waiter.answered && error == 0) {
		pthread_mutex_unlock(&resolver->lock);
		error = task_park_at(site, deadline);
		pthread_mutex_lock(&resolver->lock);
	}
	*waiter.previous = waiter.next;
	if (waiter.next)
		waiter.next->previous = waiter.previous;
	if (!waiter.answered)
		return error;
	*answer = known->answer;
	if (known->is_refused)
		return -EAGAIN;
	return answer->reason ? -ENOENT : 0;
}

int resolver_look_up(struct resolver *resolver, const char *name, size_t name_len,
                     struct deadline deadline, struct resolver_answer *answer)
{
	char lower[URL_HOST_NAME_MAX + 1];
	struct known_name *known;
	int error = -EAGAIN;

	assert(name_len > 0 && name_len < sizeof(lower));
	for (size_t i = 0; i < name_len; i++)
		lower[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] | 0x20 : name[i]);
	lower[name_len] = '\0';

	pthread_mutex_lock(&resolver->lock);
	known = find_or_add_locked(resolver, lower);
	if (known)
		error = answer_locked(resolver, known, lower, deadline, answer);
	pthread_mutex_unlock(&resolver->lock);
	return error;
}

int resolver_create(const struct resolver_options *options, struct resolver **out)
{
	struct resolver *resolver = calloc(1, sizeof(*resolver));

	assert(options->offload);
	if (!resolver)
		return -ENOMEM;
	resolver->options = *options;
	if (!resolver->options.look_up)
		resolver->options.look_up = ask_system;
	if (resolver->options.keep_ns == 0)
		resolver->options.keep_ns = 30 * INT64_C(1000000000);
	if (resolver->options.keep_failed_ns == 0)
		resolver->options.keep_failed_ns = INT64_C(1000000000);
	if (resolver->options.max_names == 0)
		resolver->options.max_names = 1024;
	resolver->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	resolver->none_left = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	*out = resolver;
	return 0;
}

void resolver_destroy(struct resolver *resolver)
{
	struct known_name *next;

	if (!resolver)
		return;
	pthread_mutex_lock(&resolver->lock);
	while (resolver->under_way > 0)
		pthread_cond_wait(&resolver->none_left, &resolver->lock);
	pthread_mutex_unlock(&resolver->lock);

	for (size_t i = 0; i < BUCKETS; i++)
		for (struct known_name *known = resolver->buckets[i]; known; known = next) {
			next = known->next;
			free(known);
		}
	pthread_cond_destroy(&resolver->none_left);
	pthread_mutex_destroy(&resolver->lock);
	free(resolver);
}
