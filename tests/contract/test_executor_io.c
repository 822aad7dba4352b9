#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "executors/io.h"
#include "executors/scope.h"
#include "tests/contract/over_executor.h"

/* Waiting for file descriptors. [0] of a pair is the task's, [1] the other side's. */

enum { PAIRS = 100, ROUNDS = 200 };

static struct deadline far_away(void)
{
	return deadline_in_ms(60000);
}

static int open_pair(int pair[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair);
}

/* One byte, 0 at the end, or a negative errno. */
static int read_byte(struct io *io, char *byte, struct deadline deadline)
{
	ssize_t got;

	while ((got = read(io->fd, byte, 1)) < 0 && errno == EAGAIN) {
		int error = io_wait(io, EPOLLIN, deadline);

		if (error < 0)
			return error;
	}
	return got < 0 ? -errno : (int)got;
}

static int write_byte(struct io *io, char byte, struct deadline deadline)
{
	ssize_t put;

	while ((put = write(io->fd, &byte, 1)) < 0 && errno == EAGAIN) {
		int error = io_wait(io, EPOLLOUT, deadline);

		if (error < 0)
			return error;
	}
	return put < 0 ? -errno : (int)put;
}

/* A task that reads one byte from its fd. */
struct reader {
	struct task task;
	struct cancel cancel;
	int fd;
	struct deadline deadline;
	char byte;
	int got;
	struct countdown is_open, over;
};

static int reader_run(struct task *task)
{
	struct reader *reader = (struct reader *)task;
	struct io io;

	reader->got = io_open(&io, reader->fd);
	countdown_arrive(&reader->is_open);
	if (reader->got < 0)
		return reader->got;
	reader->got = read_byte(&io, &reader->byte, reader->deadline);
	io_close(&io);
	return 0;
}

static void reader_done(struct task *task)
{
	countdown_arrive(&((struct reader *)task)->over);
}

/* Of one end of a pair of sockets, which it closes. Returns the other end. */
static int start_reader(struct executor *executor, struct reader *reader, struct deadline deadline)
{
	int pair[2];

	assert_int_equal(open_pair(pair), 0);
	*reader = (struct reader){.task = {.run = reader_run, .done = reader_done},
	                          .fd = pair[0],
	                          .deadline = deadline};
	cancel_init(&reader->cancel, NULL);
	reader->task.cancel = &reader->cancel;
	countdown_init(&reader->is_open, 1);
	countdown_init(&reader->over, 1);
	assert_int_equal(executor_submit(executor, &reader->task), 0);
	countdown_wait(&reader->is_open);
	return pair[1];
}

static void finish_reader(struct reader *reader)
{
	countdown_wait(&reader->over);
	countdown_finish(&reader->is_open);
	countdown_finish(&reader->over);
	cancel_finish(&reader->cancel);
}

static void io_wait_returns_once_readable(void **state)
{
	struct executor *executor = start_executor(1);

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		struct reader reader;
		int peer = start_reader(executor, &reader, far_away());

		assert_int_equal(write(peer, "x", 1), 1);
		finish_reader(&reader);
		assert_int_equal(reader.got, 1);
		assert_int_equal(reader.byte, 'x');
		(void)close(peer);
	}
	executor_destroy(executor);
}

static void io_wait_times_out(void **state)
{
	struct executor *executor = start_executor(1);
	struct reader reader;
	int peer;

	(void)state;
	peer = start_reader(executor, &reader, deadline_in_ms(10));
	finish_reader(&reader);
	executor_destroy(executor);
	assert_int_equal(reader.got, -ETIMEDOUT);
	assert_true(deadline_now_ns() >= reader.deadline.ns);
	(void)close(peer);
}

static void io_wait_is_cancelled(void **state)
{
	struct executor *executor = start_executor(1);

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		struct reader reader;
		int peer = start_reader(executor, &reader, far_away());

		cancel_fire(&reader.cancel, CANCEL_CLIENT_GONE);
		finish_reader(&reader);
		assert_int_equal(reader.got, -ECANCELED);
		(void)close(peer);
	}
	executor_destroy(executor);
}

static void io_wait_returns_when_the_peer_goes(void **state)
{
	struct executor *executor = start_executor(1);
	struct reader reader;
	int peer;

	(void)state;
	peer = start_reader(executor, &reader, far_away());
	(void)close(peer);
	finish_reader(&reader);
	assert_int_equal(reader.got, 0);

	peer = start_reader(executor, &reader, far_away());
	assert_int_equal(shutdown(peer, SHUT_WR), 0);
	finish_reader(&reader);
	assert_int_equal(reader.got, 0);
	(void)close(peer);
	executor_destroy(executor);
}

static int open_a_regular_file(void *arg)
{
	FILE *file = tmpfile();
	struct io io;
	int error;

	(void)arg;
	if (!file)
		return -errno;
	error = io_open(&io, fileno(file));
	(void)fclose(file);
	return error;
}

static void a_regular_file_cannot_be_waited_for(void **state)
{
	struct executor *executor = start_executor(1);

	(void)state;
	assert_int_equal(run_in_task(executor, open_a_regular_file, NULL), -EPERM);
	executor_destroy(executor);
}

/* Fill a socket, until it has to wait for room; then let the other side drain it. */
struct filler {
	struct task task;
	int pair[2];
	struct countdown is_full, over;
	unsigned written;
	int timeout, error;
};

static int filler_run(struct task *task)
{
	struct filler *filler = (struct filler *)task;
	char bytes[4096] = {0};
	ssize_t put;
	struct io io;

	filler->error = io_open(&io, filler->pair[0]);
	if (filler->error < 0)
		return filler->error;
	while ((put = write(io.fd, bytes, sizeof(bytes))) > 0)
		filler->written += (unsigned)put;
	/* That it was writable at first may be reported once. */
	do
		filler->timeout = io_wait(&io, EPOLLOUT, deadline_in_ms(5));
	while (filler->timeout == 0);
	countdown_arrive(&filler->is_full);
	filler->error = write_byte(&io, 'x', far_away());
	io_close(&io);
	return 0;
}

static void filler_done(struct task *task)
{
	countdown_arrive(&((struct filler *)task)->over);
}

static unsigned drain(int fd)
{
	static char bytes[65536];
	unsigned total = 0;
	ssize_t got;

	while ((got = read(fd, bytes, sizeof(bytes))) > 0)
		total += (unsigned)got;
	return total;
}

static void io_wait_returns_once_writable(void **state)
{
	struct executor *executor = start_executor(1);
	struct filler filler = {.task = {.run = filler_run, .done = filler_done}};
	unsigned drained;

	(void)state;
	assert_int_equal(open_pair(filler.pair), 0);
	countdown_init(&filler.is_full, 1);
	countdown_init(&filler.over, 1);
	assert_int_equal(executor_submit(executor, &filler.task), 0);
	countdown_wait(&filler.is_full);
	drained = drain(filler.pair[1]);
	countdown_wait(&filler.over);
	drained += drain(filler.pair[1]);
	executor_destroy(executor);
	assert_int_equal(filler.timeout, -ETIMEDOUT);
	assert_int_equal(filler.error, 1);
	assert_int_equal(drained, filler.written + 1);
	(void)close(filler.pair[1]);
	countdown_finish(&filler.is_full);
	countdown_finish(&filler.over);
}

/* Two tasks a pair that send a byte back and forth. */
struct player {
	struct task task;
	int fd;
	bool serves;
	unsigned rounds;
	atomic_uint *open;
};

static int player_run(struct task *task)
{
	struct player *player = (struct player *)task;
	struct io io;
	char byte = 0;
	int result = io_open(&io, player->fd);

	if (result < 0)
		return result;
	atomic_fetch_add(player->open, 1);
	for (unsigned i = 0; i < player->rounds && result >= 0; i++) {
		if (player->serves)
			result = write_byte(&io, (char)i, far_away());
		if (result >= 0)
			result = read_byte(&io, &byte, far_away());
		if (result == 1 && byte != (char)i)
			result = -EPROTO;
		if (result >= 0 && !player->serves)
			result = write_byte(&io, byte, far_away());
	}
	io_close(&io);
	return result < 0 ? result : 0;
}

struct game {
	unsigned pairs, rounds;
	atomic_uint open;
	struct player players[2 * PAIRS];
};

static int play(void *arg)
{
	struct game *game = arg;
	struct scope scope;
	int error = 0;

	scope_open(&scope, &(struct scope_options){0});
	for (unsigned i = 0; i < game->pairs && error == 0; i++) {
		int pair[2];

		if (open_pair(pair) < 0) {
			error = -errno;
			break;
		}
		for (unsigned side = 0; side < 2; side++) {
			struct player *player = &game->players[2 * i + side];

			*player = (struct player){
				.task = {.run = player_run},
				.fd = pair[side],
				.serves = side == 0,
				.rounds = game->rounds,
				.open = &game->open,
			};
			error |= scope_fork(&scope, &player->task);
		}
	}
	return scope_join(&scope) | error;
}

static void play_games(unsigned pairs, unsigned rounds)
{
	struct executor *executor = start_executor(2 * pairs + 1);
	struct game *game = calloc(1, sizeof(*game));

	assert_non_null(game);
	*game = (struct game){.pairs = pairs, .rounds = rounds};
	assert_int_equal(run_in_task(executor, play, game), 0);
	executor_destroy(executor);
	for (unsigned i = 0; i < 2 * pairs; i++)
		assert_int_equal(game->players[i].task.result, 0);
	assert_int_equal(game->open, 2 * pairs);
	free(game);
}

static void two_tasks_talk_for_long(void **state)
{
	(void)state;
	play_games(1, 20 * ROUNDS);
}

static void many_pairs_talk_at_once(void **state)
{
	(void)state;
	play_games(PAIRS, 20);
}

/* One task with many fds open: it waits for one at a time, in an order of its own. */
static int wait_for_each_of_many(void *arg)
{
	struct io ios[PAIRS];
	int peers[PAIRS];
	int error = 0;

	(void)arg;
	for (int i = 0; i < PAIRS && error == 0; i++) {
		int pair[2];

		if (open_pair(pair) < 0)
			return -errno;
		peers[i] = pair[1];
		error = io_open(&ios[i], pair[0]);
	}
	for (int i = 0; i < PAIRS && error == 0; i++) {
		int which = i * 37 % PAIRS;
		char byte = 0;

		if (read_byte(&ios[which], &byte, deadline_in_ms(0)) != -ETIMEDOUT)
			error = -EPROTO;
		if (write(peers[which], "x", 1) != 1 ||
		    read_byte(&ios[which], &byte, far_away()) != 1 || byte != 'x')
			error = -EPROTO;
	}
	/* Closed out of order, with the rest still in use. */
	for (int i = 0; i < PAIRS && error == 0; i++) {
		int which = i * 61 % PAIRS, other = (i + 1) * 61 % PAIRS;
		char byte = 0;

		io_close(&ios[which]);
		(void)close(peers[which]);
		if (i + 1 == PAIRS)
			break;
		if (write(peers[other], "y", 1) != 1 ||
		    read_byte(&ios[other], &byte, far_away()) != 1)
			error = -EPROTO;
	}
	return error;
}

static void a_task_may_have_many_open(void **state)
{
	struct executor *executor = start_executor(1);

	(void)state;
	assert_int_equal(run_in_task(executor, wait_for_each_of_many, NULL), 0);
	executor_destroy(executor);
}

/* The edge that says "writable" comes once, and while the task waits for the other direction. */
static int wait_in_vain_then_write(void *arg)
{
	const int *pair = arg;
	struct io io;
	int error = io_open(&io, pair[0]);

	if (error < 0)
		return error;
	for (unsigned i = 0; i < 2 && (error == 0 || error == -ETIMEDOUT); i++)
		error = io_wait(&io, EPOLLIN, deadline_in_ms(2));
	if (error == -ETIMEDOUT)
		error = io_wait(&io, EPOLLOUT, deadline_in_ms(20000));
	io_close(&io);
	return error;
}

static void a_wait_for_one_direction_leaves_the_other_ready(void **state)
{
	struct executor *executor = start_executor(2);
	int pair[2];

	(void)state;
	assert_int_equal(open_pair(pair), 0);
	assert_int_equal(run_in_task(executor, wait_in_vain_then_write, pair), 0);
	executor_destroy(executor);
	assert_int_equal(close(pair[1]), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(io_wait_returns_once_readable),
		cmocka_unit_test(io_wait_times_out),
		cmocka_unit_test(io_wait_is_cancelled),
		cmocka_unit_test(io_wait_returns_when_the_peer_goes),
		cmocka_unit_test(a_regular_file_cannot_be_waited_for),
		cmocka_unit_test(io_wait_returns_once_writable),
		cmocka_unit_test(two_tasks_talk_for_long),
		cmocka_unit_test(many_pairs_talk_at_once),
		cmocka_unit_test(a_task_may_have_many_open),
		cmocka_unit_test(a_wait_for_one_direction_leaves_the_other_ready),
	};

	return run_over_executor(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
