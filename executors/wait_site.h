#ifndef EXECUTORS_WAIT_SITE_H
#define EXECUTORS_WAIT_SITE_H

/*
 * What a task waits for, to be shown to people (task_dump.h). A wait function
 * hands one to task_park_at(), by value; it costs two stores.
 */
enum wait_kind {
	WAIT_OTHER, /* task_park() without a site */
	WAIT_SLEEP,
	WAIT_READABLE, /* @detail: the fd */
	WAIT_WRITABLE, /* likewise */
	WAIT_SEMAPHORE,
	WAIT_MUTEX, /* @object is the struct task_mutex */
	WAIT_ONCE,  /* likewise: that of the struct task_once */
	WAIT_CONDITION,
	WAIT_LATCH,
	WAIT_SEND,       /* @object is the channel */
	WAIT_RECEIVE,    /* likewise */
	WAIT_CHILDREN,   /* @object is the scope */
	WAIT_OWN_CHILD,  /* it runs @object, a task, on its own thread meanwhile */
	WAIT_OFFLOAD,    /* @detail: enum offload_lane */
	WAIT_CALL,       /* @object is the host's name, of @detail bytes without a NUL */
	WAIT_LOOKUP,     /* likewise */
	WAIT_CONNECTION, /* room for one more */
	WAIT_READER,     /* of an answer that is written bit by bit */
	WAIT_KINDS,      /* how many there are */
};

struct wait_site {
	enum wait_kind kind;
	unsigned detail;
	const void *object; /* borrowed: stays where it is until the task has left its park */
};

#endif
