#ifndef SERVER_PROCESS_METRICS_H
#define SERVER_PROCESS_METRICS_H

struct metrics_text;

/**
 * Print the process_* families under their usual names: CPU time, resident and virtual memory,
 * descriptors and their limit, threads, start time. What /proc does not tell is left out.
 *
 * Any thread. Some ten system calls.
 */
void process_metrics_print(struct metrics_text *text);

#endif
