#include "server/slow_readers.h"

#include <sys/socket.h>

#include "executors/deadline.h"
#include "server/log.h"
#include "server/write_progress.h"

static const int64_t sweep_interval_ns = 1000000000;
static const int64_t stalled_after_ns = 30 * INT64_C(1000000000);

void slow_readers_init(struct slow_readers *set)
{
	h2o_linklist_init_anchor(&set->all);
	set->sweep_due_ns = INT64_MAX;
}

void slow_readers_add(struct slow_readers *set, struct slow_reader *reader, h2o_req_t *request)
{
	int64_t now_ns = deadline_now_ns();

	*reader = (struct slow_reader){.request = request, .progress_ns = now_ns};
	if (h2o_linklist_is_empty(&set->all))
		set->sweep_due_ns = now_ns + sweep_interval_ns;
	h2o_linklist_insert(&set->all, &reader->link);
}

void slow_readers_remove(struct slow_reader *reader)
{
	if (h2o_linklist_is_linked(&reader->link))
		h2o_linklist_unlink(&reader->link);
}

int64_t slow_readers_due_ns(const struct slow_readers *set)
{
	return set->sweep_due_ns;
}

static void cut(const struct slow_reader *reader, int fd)
{
	h2o_req_t *request = reader->request;
	ssize_t id = h2o_find_header_by_str(&request->res.headers, H2O_STRLIT("x-request-id"), -1);
	h2o_iovec_t value = id < 0 ? h2o_iovec_init(H2O_STRLIT("none"))
	                           : request->res.headers.entries[id].value;

	log_event(LOG_SEVERITY_WARNING, "slow_reader",
	          "request_id=%.*s stalled_s=30 status=%d bytes=%zu", (int)value.len, value.base,
	          request->res.status, request->bytes_sent);
	(void)shutdown(fd, SHUT_RDWR);
}

static void sweep_one(struct slow_reader *reader, int64_t now_ns)
{
	h2o_conn_t *connection = reader->request->conn;
	int fd = h2o_socket_get_fd(connection->callbacks->get_socket(connection));
	uint64_t bytes = 0;

	if (write_progress_bytes(fd, &bytes) != 0 || bytes != reader->acknowledged_bytes) {
		reader->acknowledged_bytes = bytes;
		reader->progress_ns = now_ns;
	} else if (now_ns - reader->progress_ns >= stalled_after_ns) {
		reader->progress_ns = now_ns;
		cut(reader, fd);
	}
}

void slow_readers_sweep(struct slow_readers *set, int64_t now_ns)
{
	if (now_ns < set->sweep_due_ns)
		return;
	for (h2o_linklist_t *link = set->all.next; link != &set->all; link = link->next)
		sweep_one(H2O_STRUCT_FROM_MEMBER(struct slow_reader, link, link), now_ns);
	set->sweep_due_ns =
		h2o_linklist_is_empty(&set->all) ? INT64_MAX : now_ns + sweep_interval_ns;
}
