#include "server/slow_endpoint_connection.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/slow_endpoint_request.h"

static int add_slab(struct slow_loop *loop)
{
	enum { COUNT = sizeof(loop->slabs->connections) / sizeof(loop->slabs->connections[0]) };
	struct slow_slab *slab;
	int error = timer_heap_reserve(&loop->timers, (loop->slab_count + 1) * COUNT + 1);

	if (error)
		return error;
	slab = calloc(1, sizeof(*slab));
	if (!slab)
		return -ENOMEM;
	for (unsigned i = 0; i < COUNT; i++) {
		slab->connections[i].loop = loop;
		slab->connections[i].next_free = loop->free_connections;
		loop->free_connections = &slab->connections[i];
	}
	slab->next = loop->slabs;
	loop->slabs = slab;
	loop->slab_count++;
	return 0;
}

static void use_inline_input(struct slow_connection *connection)
{
	if (connection->input != connection->inline_input)
		free(connection->input);
	connection->input = connection->inline_input;
	connection->input_capacity = SLOW_INLINE_INPUT_BYTES;
	connection->input_start = 0;
	connection->input_end = 0;
}

int slow_connection_open(struct slow_loop *loop, int fd)
{
	struct slow_connection *connection;
	struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET};
	int error = 0;

	if (!loop->free_connections)
		error = add_slab(loop);
	if (error) {
		(void)close(fd);
		return error;
	}
	connection = loop->free_connections;
	event.data.ptr = connection;
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event)) {
		error = -errno;
		(void)close(fd);
		return error;
	}
	loop->free_connections = connection->next_free;
	connection->fd = fd;
	connection->state = SLOW_READING;
	connection->era = 0;
	connection->readable = false;
	connection->peer_closed = false;
	connection->unframed = false;
	connection->scanned = 0;
	connection->input = connection->inline_input;
	use_inline_input(connection);
	return 0;
}

void slow_connection_close(struct slow_connection *connection)
{
	struct slow_loop *loop = connection->loop;

	if (connection->state == SLOW_WAITING)
		slow_counters_end(&loop->counters, SLOW_CANCELED);
	timer_heap_remove(&loop->timers, &connection->timer);
	use_inline_input(connection);
	free(connection->answer.text);
	connection->answer.text = NULL;
	slow_echo_finish(&connection->echo);
	(void)close(connection->fd);
	connection->state = SLOW_FREE;
	connection->next_free = loop->free_connections;
	loop->free_connections = connection;
}

void slow_connections_finish(struct slow_loop *loop)
{
	struct slow_slab *slab = loop->slabs;

	while (slab) {
		struct slow_slab *next = slab->next;

		for (size_t i = 0; i < sizeof(slab->connections) / sizeof(slab->connections[0]);
		     i++)
			if (slab->connections[i].state != SLOW_FREE)
				slow_connection_close(&slab->connections[i]);
		free(slab);
		slab = next;
	}
	loop->slabs = NULL;
	loop->free_connections = NULL;
}

void slow_connection_set_timer(struct slow_connection *connection, int64_t when_ns)
{
	int error;

	connection->timer.when_ns = when_ns;
	error = timer_heap_add(&connection->loop->timers, &connection->timer);
	/* add_slab() has made room for one of each connection. */
	assert(error == 0);
}

/* A head of more than the inline buffer gets one that holds the longest. */
static int make_room(struct slow_connection *connection)
{
	unsigned bytes = connection->input_end - connection->input_start;
	char *input = connection->input;

	if (connection->input_end < connection->input_capacity)
		return 0;
	if (connection->input_start == 0) {
		assert(connection->input_capacity == SLOW_INLINE_INPUT_BYTES);
		input = malloc(SLOW_HEAD_MAX_BYTES);
		if (!input)
			return -ENOMEM;
		connection->input_capacity = SLOW_HEAD_MAX_BYTES;
	}
	memmove(input, connection->input + connection->input_start, bytes);
	connection->input = input;
	connection->input_start = 0;
	connection->input_end = bytes;
	return 0;
}

/* @room bytes were asked for and @got came: note whether another read could bring more. */
static int note_read(struct slow_connection *connection, ssize_t got, size_t room)
{
	if (got == 0)
		return -EPIPE;
	if (got < 0 && errno != EAGAIN)
		return -errno;
	/* Short means drained, but an end that has been announced is still to be read. */
	if (got < 0 || ((size_t)got < room && !connection->peer_closed))
		connection->readable = false;
	return got < 0 ? 0 : (int)got;
}

int slow_connection_read(struct slow_connection *connection)
{
	size_t room;
	ssize_t got;

	if (make_room(connection))
		return -ENOMEM;
	room = connection->input_capacity - connection->input_end;
	got = recv(connection->fd, connection->input + connection->input_end, room, 0);
	if (got > 0)
		connection->input_end += (unsigned)got;
	return note_read(connection, got, room);
}

int slow_connection_discard(struct slow_connection *connection, size_t bytes)
{
	ssize_t got;

	if (bytes > SLOW_SCRATCH_BYTES)
		bytes = SLOW_SCRATCH_BYTES;
	got = recv(connection->fd, connection->loop->scratch, bytes, 0);
	return note_read(connection, got, bytes);
}

void slow_connection_consume(struct slow_connection *connection, unsigned bytes)
{
	connection->input_start += bytes;
	if (connection->input_start == connection->input_end)
		use_inline_input(connection);
}
