"""./dev demo: a fan-out of 1,000 one-second calls on each executor, and what it cost."""

import sys

from servers import Failure, Progress, measure_fanout, run, start_fanoutd, start_slow_endpoint, table

CALLS = 1000
DELAY_MS = 1000

# name, flags, about how long a run takes in seconds, the published figure
EXECUTORS = [
    ("coroutine", ["--executor", "coroutine"], 1, "2,183 ms"),
    ("pool of 100", ["--executor", "pool", "--pool-threads", "100"], 10, "10.6 s"),
    ("thread", ["--executor", "thread"], 1, ""),
]

HEADING = ["executor", "ok", "failed", "wall ms", "call p50", "call p99", "CPU ms", "threads", "RSS MiB",
           "saw at once", "published"]

NOTES = """\
1,000 calls of one second each, in one request to a fanoutd just started. CPU, threads and RSS are fanoutd's
alone: the slow endpoint, which counts what it saw at once, is a process of its own.
Published: Java 25 on 8 cores, virtual threads and a fixed pool of 100; this machine has other cores."""


def measure(build, name, flags, seconds, progress):
    with start_slow_endpoint(build) as slow_endpoint, start_fanoutd(build, slow_endpoint, flags) as server:
        return measure_fanout(
            server, slow_endpoint, f"n={CALLS}&delay_ms={DELAY_MS}",
            lambda elapsed: progress.show(f"{name}: {elapsed:4.1f} of about {seconds} s"))


def row(name, sample, published):
    answer = sample["answer"]
    call_ms = answer["call_ms"] or {"p50": None, "p99": None}

    def ms(value):
        return "–" if value is None else f"{value:,.0f}"

    return [name, str(answer["ok"]), str(answer["failed"]), ms(sample["wall_ms"]), ms(call_ms["p50"]),
            ms(call_ms["p99"]), ms(sample["cpu_ms"]), str(sample["threads"]),
            f"{sample['rss_kib'] / 1024:.0f}", str(sample["saw_at_once"]), published]


def main():
    progress = Progress()
    rows = [HEADING]
    failed = []
    for name, flags, seconds, published in EXECUTORS:
        sample = measure(sys.argv[1], name, flags, seconds, progress)
        rows.append(row(name, sample, published))
        if sample["answer"]["failed"]:
            failed.append(f"{sample['answer']['failed']} calls failed on {name}: {sample['answer']['errors']}")
    progress.clear()
    print(table(rows))
    print()
    print(NOTES)
    if failed:
        raise Failure("; ".join(failed))


if __name__ == "__main__":
    run(main)
