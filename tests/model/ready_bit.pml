/*
 * Waiting for a file descriptor, as executors/io.c does: the poller reports an
 * edge once, and io->ready keeps it until io_wait() consumes it, before the read
 * that follows. A task that has lost its carrier reads while the carrier's loop
 * runs on another driver, so the read and what comes after it fall between any
 * two steps of the loop; io_begin_wait() and io_ready() do not, since both own
 * the carrier.
 *
 * A peer sends MESSAGES; the task reads until EAGAIN and waits, until it has them
 * all. Checked: it gets them, since a state in which nothing can go on is an error.
 *
 * Each of these, defined, is a mistake that the search has to find:
 *	CLEARED_AFTER_EAGAIN   the bit is cleared where the read found nothing
 *	WAITS_WITHOUT_LOOKING  io_begin_wait() leaves word without looking at the bit
 */
#ifndef MESSAGES
#define MESSAGES 4
#endif

byte sent, unread, received;
bool edge;    /* the poller has something to report */
bool ready;   /* io->ready */
bool waiting; /* io->waiter is set */
bool noted;   /* the task's permit */

active proctype peer()
{
	do
	:: sent < MESSAGES ->
		d_step {
			sent++;
			unread++;
			edge = true
		}
	:: else -> break
	od
}

active proctype loop()
{
	/* io_ready(), and the task_wake() in it. */
end:
	do
	:: d_step {
		edge ->
		edge = false;
		ready = true;
		noted = noted || waiting;
		waiting = false
	}
	od
}

active proctype task()
{
	bool again;

	do
	:: received == MESSAGES -> break
	:: received < MESSAGES ->
		/* read() */
		d_step {
			again = unread == 0;
			received = received + unread;
			unread = 0
		}
		if
		:: !again -> skip
		:: else ->
#ifdef CLEARED_AFTER_EAGAIN
			ready = false;
#endif
			/* io_wait() */
			do
			:: d_step {
				waiting = false;
#ifdef WAITS_WITHOUT_LOOKING
				again = true;
#else
				again = !ready;
#endif
				ready = false;
				waiting = again
			}
				if
				:: !again -> break
				:: else -> atomic { noted -> noted = false } /* task_park() */
				fi
			od
		fi
	od
}
