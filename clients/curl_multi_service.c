#include "clients/curl_multi_service.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "clients/curl_group.h"

enum {
	MOST_UNUSED_HANDLES = 1024, /* about 7 KiB each */
	SHRINK_MS = 30 * 1000,
};

struct curl_multi_service {
	struct carrier_service service;
	struct carrier *carrier;
	struct curl_group *groups;       /* all */
	struct curl_group *with_room[2]; /* those with room; [1]: for multiplexed transfers */
	struct curl_handle *unused;      /* the last one used first */
	unsigned unused_count;
	bool was_used; /* since shrink() last looked */
	bool is_short; /* of descriptors: what is idle is to be closed now */
	bool is_shrink_set;
	struct carrier_timer shrink_timer;
};

static void take_handle_back(struct curl_multi_service *service, struct curl_handle *handle,
                             CURLcode code)
{
	if (!curl_handle_release(handle, code) || service->unused_count == MOST_UNUSED_HANDLES) {
		curl_handle_destroy(handle);
		return;
	}
	handle->next = service->unused;
	service->unused = handle;
	service->unused_count++;
}

/*
 * The task leaves as soon as it sees @done, and takes the transfer with it, so
 * that is the last thing done to it. The wake comes before, though a task must not
 * return while it is being woken: one that waits resumes on this carrier, which
 * is busy here; one that has not begun to wait finds the wake noted.
 */
static void finish_transfer(struct curl_transfer *transfer)
{
	transfer->handle = NULL;
	task_wake(transfer->task);
	atomic_store_explicit(&transfer->done, true, memory_order_release);
}

/* Idle connections may be what the process has run out of descriptors by. Not at once: this may be
 * called by libcurl, for one of the groups. */
static void shrink_soon(struct curl_multi_service *service)
{
	service->is_short = true;
	service->is_shrink_set =
		carrier_set_timer(service->carrier, &service->shrink_timer, deadline_in_ns(0)) == 0;
}

/*
 * Calls go to the group in which room was made last. Every group with room that
 * has been full has an idle connection, and only the newest has not: so a second
 * burst finds the connections of the first.
 */
static void offer_room(struct curl_multi_service *service, struct curl_group *group)
{
	group->next_with_room = service->with_room[group->is_multiplexed];
	service->with_room[group->is_multiplexed] = group;
}

static void take_out_of_group(struct curl_multi_service *service, struct curl_handle *handle)
{
	struct curl_group *group = handle->group;
	bool was_full = !curl_group_has_room(group);

	curl_group_remove(group, handle);
	if (was_full)
		offer_room(service, group);
}

static void transfer_ended(struct curl_group *group, struct curl_handle *handle, CURLcode code)
{
	struct curl_multi_service *service = group->arg;
	struct curl_transfer *transfer = handle->transfer;

	curl_handle_conclude(handle, code);
	if (transfer->failure == HTTP_FD_LIMIT)
		shrink_soon(service);
	take_out_of_group(service, handle);
	take_handle_back(service, handle, code);
	finish_transfer(transfer);
}

static struct curl_handle *take_handle(struct curl_multi_service *service,
                                       const struct curl_settings *settings)
{
	struct curl_handle *handle = service->unused;

	if (!handle)
		return curl_handle_create(settings, &handle) == 0 ? handle : NULL;
	service->unused = handle->next;
	service->unused_count--;
	return handle;
}

static struct curl_group *add_group(struct curl_multi_service *service,
                                    const struct curl_transfer *transfer)
{
	struct curl_group *group = calloc(1, sizeof(*group));

	if (!group)
		return NULL;
	group->ended = transfer_ended;
	group->arg = service;
	group->is_multiplexed = curl_transfer_is_multiplexed(transfer);
	group->addresses = transfer->call->addresses;
	if (curl_group_init(group, service->carrier) < 0) {
		free(group);
		return NULL;
	}
	group->next = service->groups;
	service->groups = group;
	offer_room(service, group);
	return group;
}

/* Where the first group with room for @transfer hangs in its list; NULL at its end: there is none.
 * Of groups that differ in the addresses there are few, mostly one kind alone. */
static struct curl_group **find_room(struct curl_multi_service *service,
                                     const struct curl_transfer *transfer)
{
	struct curl_group **at = &service->with_room[curl_transfer_is_multiplexed(transfer)];

	while (*at && (*at)->addresses != transfer->call->addresses)
		at = &(*at)->next_with_room;
	return at;
}

/* A group leaves the list before its last place is taken: the transfer may end, and put it back,
 * while it is being added. */
static CURLcode add_to_group(struct curl_multi_service *service, struct curl_handle *handle)
{
	struct curl_group **at = find_room(service, handle->transfer), *group = *at;
	bool is_last;
	CURLcode code;

	if (!group) {
		group = add_group(service, handle->transfer);
		at = find_room(service, handle->transfer);
	}
	if (!group)
		return CURLE_OUT_OF_MEMORY;
	is_last = group->transfers + 1 == group->most_transfers;
	if (is_last)
		*at = group->next_with_room;
	code = curl_group_add(group, handle);
	if (code != CURLE_OK && is_last)
		offer_room(service, group);
	return code;
}

static void destroy_unused_handles(struct curl_multi_service *service)
{
	struct curl_handle *handle;

	while ((handle = service->unused)) {
		service->unused = handle->next;
		curl_handle_destroy(handle);
	}
	service->unused_count = 0;
}

/* Groups without a transfer since the last look, with their connections, which the peers may have
 * closed long ago: an idle one is not watched. */
static void destroy_unused_groups(struct curl_multi_service *service)
{
	struct curl_group **at = &service->groups, *group;

	service->with_room[false] = service->with_room[true] = NULL;
	while ((group = *at)) {
		if (group->transfers == 0 && (service->is_short || !group->was_used)) {
			*at = group->next;
			curl_group_finish(group);
			free(group);
			continue;
		}
		group->was_used = false;
		if (curl_group_has_room(group))
			offer_room(service, group);
		at = &group->next;
	}
}

/* Keeps itself going until there is nothing left to shrink. Without memory for the timer, the
 * next call tries again. */
static void set_shrink_timer(struct curl_multi_service *service)
{
	service->is_shrink_set = carrier_set_timer(service->carrier, &service->shrink_timer,
	                                           deadline_in_ms(SHRINK_MS)) == 0;
}

static void shrink(struct carrier_timer *timer)
{
	struct curl_multi_service *service =
		(struct curl_multi_service *)((char *)timer -
	                                      offsetof(struct curl_multi_service, shrink_timer));

	service->is_shrink_set = false;
	destroy_unused_groups(service);
	service->is_short = false;
	if (!service->was_used)
		destroy_unused_handles(service);
	service->was_used = false;
	if (service->groups || service->unused)
		set_shrink_timer(service);
}

static void stop(struct carrier_service *base)
{
	struct curl_multi_service *service =
		(struct curl_multi_service *)((char *)base -
	                                      offsetof(struct curl_multi_service, service));
	struct curl_group *group;

	while ((group = service->groups)) {
		service->groups = group->next;
		curl_group_finish(group);
		free(group);
	}
	destroy_unused_handles(service);
	(void)carrier_set_timer(service->carrier, &service->shrink_timer, DEADLINE_NEVER);
	free(service);
}

static struct curl_multi_service *find_or_add_service(struct carrier *carrier,
                                                      const struct curl_settings *settings)
{
	struct carrier_service *base = carrier_service_find(carrier, settings);
	struct curl_multi_service *service;

	if (base)
		return (struct curl_multi_service *)((char *)base -
		                                     offsetof(struct curl_multi_service, service));
	service = calloc(1, sizeof(*service));
	if (!service)
		return NULL;
	service->service.key = settings;
	service->service.stop = stop;
	service->carrier = carrier;
	service->shrink_timer.fire = shrink;
	carrier_service_add(carrier, &service->service);
	return service;
}

static void start(struct carrier *carrier, struct curl_transfer *transfer)
{
	struct curl_multi_service *service = find_or_add_service(carrier, transfer->settings);
	struct curl_handle *handle = service ? take_handle(service, transfer->settings) : NULL;
	CURLcode code;

	if (!handle) {
		transfer->failure = HTTP_FD_LIMIT;
		transfer->reason = "out of memory";
		finish_transfer(transfer);
		return;
	}
	service->was_used = true;
	if (!service->is_shrink_set)
		set_shrink_timer(service);

	transfer->handle = handle;
	code = curl_handle_prepare(handle, transfer);
	if (code == CURLE_OK)
		code = add_to_group(service, handle);
	if (code == CURLE_OK)
		return;
	curl_handle_conclude(handle, code);
	take_handle_back(service, handle, code);
	finish_transfer(transfer);
}

void curl_multi_service_start(struct carrier *carrier, void *transfer)
{
	start(carrier, transfer);
}

void curl_multi_service_remove(struct carrier *carrier, void *transfer)
{
	struct curl_handle *handle = ((struct curl_transfer *)transfer)->handle;

	(void)carrier;
	if (!handle)
		return;
	/* Removing one of several streams leaves the connection to the others. If this is the last
	 * one, close it: the peer may have gone without a word, and would get all further calls. */
	if (handle->transfer->is_overdue)
		(void)curl_easy_setopt(handle->easy, CURLOPT_FORBID_REUSE, 1L);
	curl_handle_note_reply(handle, CURLE_ABORTED_BY_CALLBACK);
	handle->transfer->handle = NULL;
	take_out_of_group(handle->group->arg, handle);
	/* What was cut short is not used again. */
	(void)curl_handle_release(handle, CURLE_ABORTED_BY_CALLBACK);
	curl_handle_destroy(handle);
}
