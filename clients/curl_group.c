#include "clients/curl_group.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clients/http_fail.h"

/*
 * libcurl calls socket_changed() and timer_changed() from within almost
 * everything. They take notes only: it must not be called again from there.
 * settle() acts on the notes once it has returned.
 */

/*
 * A socket of libcurl's. The watch stays when the connection goes idle, for the
 * next call would ask for the same events: that saves two system calls each. If
 * the peer closes the idle connection, or sends what nobody asked for, it ends;
 * libcurl finds out by itself when it wants the connection again.
 */
struct socket_watch {
	struct carrier_fd watch;
	struct curl_group *group;
	struct socket_watch *next;
	bool is_wanted; /* by a transfer */
};

/* Have libcurl act on @fd, or on what is due, and deal with what came of it. An error of its own
 * means that it is out of memory: the transfer it concerns is left to its deadline. */
static void run(struct curl_group *group, curl_socket_t fd, int events);

static void socket_ready(struct carrier_fd *watch, uint32_t events)
{
	struct socket_watch *self =
		(struct socket_watch *)((char *)watch - offsetof(struct socket_watch, watch));
	struct curl_group *group = self->group;
	int what = 0;

	if (!self->is_wanted) {
		(void)carrier_watch(group->carrier, watch, 0);
		return;
	}
	if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP))
		what |= CURL_CSELECT_IN;
	if (events & EPOLLOUT)
		what |= CURL_CSELECT_OUT;
	if (events & (EPOLLERR | EPOLLHUP))
		what |= CURL_CSELECT_ERR;
	run(group, watch->fd, what);
}

/* A group has about as many sockets as transfers: few. */
static struct socket_watch **find_watch(struct curl_group *group, int fd)
{
	struct socket_watch **at = &group->watches;

	while (*at && (*at)->watch.fd != fd)
		at = &(*at)->next;
	return at;
}

static struct socket_watch *find_or_add_watch(struct curl_group *group, int fd)
{
	struct socket_watch *watch = *find_watch(group, fd);

	if (watch)
		return watch;
	watch = calloc(1, sizeof(*watch));
	if (!watch)
		return NULL;
	watch->watch.fd = fd;
	watch->watch.ready = socket_ready;
	watch->group = group;
	watch->next = group->watches;
	group->watches = watch;
	return watch;
}

/* The mask is exactly what libcurl asks for: a socket watched for writing for longer than needed
 * is always ready, and burns a core. */
static int watch_socket(struct curl_group *group, struct socket_watch *watch, int what)
{
	uint32_t events = 0;

	if (what & CURL_POLL_IN)
		events |= EPOLLIN;
	if (what & CURL_POLL_OUT)
		events |= EPOLLOUT;
	watch->is_wanted = true;
	return events == watch->watch.events ? 0
	                                     : carrier_watch(group->carrier, &watch->watch, events);
}

static void end_watch(struct curl_group *group, struct socket_watch **at)
{
	struct socket_watch *watch = *at;

	*at = watch->next;
	(void)carrier_watch(group->carrier, &watch->watch, 0);
	free(watch);
}

/* libcurl closes a socket that is still connecting without a word, and says only here that it has
 * done with it. It wants to write to such a one. */
static void leave_socket(struct curl_group *group, int fd)
{
	struct socket_watch **at = find_watch(group, fd);

	if (!*at)
		return;
	if ((*at)->watch.events != EPOLLIN)
		end_watch(group, at); /* or it could not be watched at all */
	else
		(*at)->is_wanted = false;
}

static void forget_unwatched(struct curl_group *group, struct curl_handle *handle)
{
	struct curl_handle **at = &group->unwatched;

	while (*at && *at != handle)
		at = &(*at)->next_unwatched;
	if (*at)
		*at = handle->next_unwatched;
}

static void note_unwatched(struct curl_group *group, struct curl_handle *handle, int error)
{
	forget_unwatched(group, handle);
	handle->shortage = -error;
	handle->next_unwatched = group->unwatched;
	group->unwatched = handle;
}

/* CURLMOPT_SOCKETFUNCTION. Returning an error would stop all transfers of the multi. */
static int socket_changed(CURL *easy, curl_socket_t fd, int what, void *arg, void *assigned)
{
	struct curl_group *group = arg;
	struct socket_watch *watch = assigned;
	struct curl_handle *handle = NULL;
	int error = -ENOMEM;

	if (what == CURL_POLL_REMOVE) {
		leave_socket(group, fd);
		return 0;
	}
	if (!watch) {
		watch = find_or_add_watch(group, fd);
		if (watch)
			(void)curl_multi_assign(group->multi, fd, watch);
	}
	if (watch)
		error = watch_socket(group, watch, what);
	if (error < 0) {
		/* libcurl may have handles of its own, which have no owner here. */
		(void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, &handle);
		if (handle)
			note_unwatched(group, handle, error);
	}
	return 0;
}

/* One connection carries a hundred calls, and goes on when they time out. If the peer's machine has
 * gone without a word, it is to be given up sooner than the quarter of an hour that Linux tries. */
static void give_up_soon(int fd)
{
	unsigned unacknowledged_ms = 10 * 1000;

	/* Best effort: without it, that quarter of an hour. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms,
	                 sizeof(unacknowledged_ms));
}

static bool is_allowed(const struct curl_handle *handle, const struct curl_sockaddr *address)
{
	const struct address_policy *addresses = handle->transfer->call->addresses;

	return !addresses || addresses->allows(addresses, &address->addr);
}

/* CURLOPT_OPENSOCKETFUNCTION. Only here is the errno of socket(2) seen: libcurl reports no more
 * than that it could not connect. */
static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct curl_handle *handle = arg;
	int fd;

	(void)purpose;
	if (!is_allowed(handle, address)) {
		handle->has_refused = true;
		return CURL_SOCKET_BAD;
	}
	fd = socket(address->family, address->socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
	            address->protocol);
	if (fd < 0 && http_is_shortage(errno))
		handle->shortage = errno;
	if (fd >= 0 && curl_transfer_is_multiplexed(handle->transfer))
		give_up_soon(fd);
	return fd < 0 ? CURL_SOCKET_BAD : fd;
}

/* CURLOPT_CLOSESOCKETFUNCTION: also hears of connections that are closed while idle. */
static int close_socket(void *arg, curl_socket_t fd)
{
	struct curl_group *group = arg;
	struct socket_watch **at = find_watch(group, fd);

	group->closed++;
	if (*at)
		end_watch(group, at);
	return close(fd);
}

/* CURLMOPT_TIMERFUNCTION. */
static int timer_changed(CURLM *multi, long timeout_ms, void *arg)
{
	struct curl_group *group = arg;

	(void)multi;
	group->run_at = timeout_ms < 0 ? DEADLINE_NEVER : deadline_in_ms(timeout_ms);
	return 0;
}

/* A timer that fires too early only looks at run_at and is set again, so most changes, which are
 * to a later time, cost nothing. One that could not be set is tried again next time. */
static void arm_timer(struct curl_group *group)
{
	if (group->run_at.ns >= group->armed_at.ns)
		return;
	if (carrier_set_timer(group->carrier, &group->timer, group->run_at) == 0)
		group->armed_at = group->run_at;
}

static void settle(struct curl_group *group)
{
	struct curl_handle *handle;
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(group->multi, &left))) {
		CURLcode code = message->data.result;

		(void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &handle);
		group->ended(group, handle, code);
	}
	while ((handle = group->unwatched))
		group->ended(group, handle, CURLE_COULDNT_CONNECT);
	arm_timer(group);
}

static void run(struct curl_group *group, curl_socket_t fd, int events)
{
	int running;

	(void)curl_multi_socket_action(group->multi, fd, events, &running);
	settle(group);
}

static void timer_fired(struct carrier_timer *timer)
{
	struct curl_group *group =
		(struct curl_group *)((char *)timer - offsetof(struct curl_group, timer));

	group->armed_at = DEADLINE_NEVER;
	if (group->run_at.ns <= deadline_now_ns()) {
		group->run_at = DEADLINE_NEVER;
		run(group, CURL_SOCKET_TIMEOUT, 0);
	} else {
		arm_timer(group);
	}
}

int curl_group_init(struct curl_group *group, struct carrier *carrier)
{
	CURLM *multi = curl_multi_init();

	if (!multi)
		return -ENOMEM;
	group->multi = multi;
	group->carrier = carrier;
	group->most_transfers = group->is_multiplexed ? CURL_GROUP_STREAMS : CURL_GROUP_TRANSFERS;
	group->timer.fire = timer_fired;
	group->run_at = group->armed_at = DEADLINE_NEVER;
	/* Cannot fail: the options exist and take no memory. */
	(void)curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket_changed);
	(void)curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, group);
	(void)curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer_changed);
	(void)curl_multi_setopt(multi, CURLMOPT_TIMERDATA, group);
	(void)curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)group->most_transfers);
	return 0;
}

void curl_group_finish(struct curl_group *group)
{
	assert(group->transfers == 0);
	(void)curl_multi_cleanup(group->multi);
	while (group->watches)
		end_watch(group, &group->watches);
	(void)carrier_set_timer(group->carrier, &group->timer, DEADLINE_NEVER);
}

/* A connection keeps the last two for its life, which is spent in this multi. */
static CURLcode set_socket_options(struct curl_group *group, struct curl_handle *handle)
{
	CURLcode codes[] = {
		curl_easy_setopt(handle->easy, CURLOPT_OPENSOCKETFUNCTION, open_socket),
		curl_easy_setopt(handle->easy, CURLOPT_OPENSOCKETDATA, handle),
		curl_easy_setopt(handle->easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket),
		curl_easy_setopt(handle->easy, CURLOPT_CLOSESOCKETDATA, group),
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i] != CURLE_OK)
			return codes[i];
	return CURLE_OK;
}

CURLcode curl_group_add(struct curl_group *group, struct curl_handle *handle)
{
	CURLcode code = set_socket_options(group, handle);

	if (code != CURLE_OK)
		return code;
	handle->closed_before = group->closed;
	if (curl_multi_add_handle(group->multi, handle->easy) != CURLM_OK)
		return CURLE_OUT_OF_MEMORY;
	handle->group = group;
	group->transfers++;
	group->was_used = true;
	run(group, CURL_SOCKET_TIMEOUT, 0);
	return CURLE_OK;
}

void curl_group_remove(struct curl_group *group, struct curl_handle *handle)
{
	assert(handle->group == group);
	(void)curl_multi_remove_handle(group->multi, handle->easy);
	forget_unwatched(group, handle);
	handle->group = NULL;
	group->transfers--;
	/* 7.88 counts the repetitions of requests on dead connections over all transfers of an
	 * easy handle, and fails at the sixth, unless it is reset. A repetition closes one. */
	if (group->closed != handle->closed_before)
		handle->needs_reset = true;
	arm_timer(group);
}
