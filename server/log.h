#ifndef SERVER_LOG_H
#define SERVER_LOG_H

/*
 * One line an event on stderr, in logfmt:
 *
 *	ts=2025-01-31T12:00:00.123Z level=info event=started executor=coroutine carriers=2
 *
 * Only server/ logs. A line is one write(2), so lines of several threads do not mix.
 */
enum log_severity {
	LOG_SEVERITY_INFO,
	LOG_SEVERITY_WARNING,
	LOG_SEVERITY_ERROR,
};

/**
 * Write one line. @event is a bare word; @fields_format gives "key=value" pairs, with values
 * that may contain blanks in double quotes, "" for none. Control characters become '?'. A line
 * over 1,000 bytes is cut.
 *
 * Any thread; never waits: while a pipe on stderr is full, lines are dropped and counted. Keeps
 * errno. An error of stderr itself is ignored.
 */
void log_event(enum log_severity severity, const char *event, const char *fields_format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
