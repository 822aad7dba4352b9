"""A server that has nothing to do makes no wake-ups, but one a second for the CPU quota."""

import os
import time
import unittest

import fanoutd
from fanoutd import PATIENCE, Server, wait_until

MEASURED_S = 3
STRAY = 2  # wake-ups of a thread in that time
MOST_CPU_S = 0.1  # of the whole process in that time


def wake_ups(pid):
    """{thread: how often it has gone to sleep}. That others took its CPU does not count."""
    counts = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/status", encoding="ascii") as status:
                fields = dict(line.split(":", 1) for line in status)
        except FileNotFoundError:
            continue  # it has ended
        counts[int(thread)] = int(fields["voluntary_ctxt_switches"])
    return counts


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def sockets(pid):
    count = 0
    for descriptor in os.listdir(f"/proc/{pid}/fd"):
        try:
            count += os.readlink(f"/proc/{pid}/fd/{descriptor}").startswith("socket:")
        except FileNotFoundError:
            continue  # closed meanwhile
    return count


def name(pid, thread):
    with open(f"/proc/{pid}/task/{thread}/comm", encoding="ascii") as comm:
        return comm.read().strip()


@unittest.skipUnless(PATIENCE == 1, "sanitizers have a thread of their own")
class Idle(unittest.TestCase):
    def check_is_idle_after(self, *paths):
        with Server("--experiments", "--carriers", "2") as server:
            pid = server.process.pid
            sockets_before = sockets(pid)
            for path in paths:
                self.assertEqual(server.get(path).status, 200)
            # Connections of calls, which are kept for a few seconds, wake who closes them.
            wait_until(lambda: sockets(pid) <= sockets_before, "end of the connections")
            self.settle(pid)
            before, cpu_before_s = wake_ups(pid), cpu_s(pid)
            time.sleep(MEASURED_S)
            for thread, count in wake_ups(pid).items():
                most = MEASURED_S + STRAY if thread == pid else STRAY
                self.assertLessEqual(count - before.get(thread, 0), most, name(pid, thread))
            self.assertLess(cpu_s(pid) - cpu_before_s, MOST_CPU_S)

    def settle(self, pid):
        """Until nobody but the main thread has woken for a moment."""
        seen = None

        def is_quiet():
            nonlocal seen
            last, seen = seen, wake_ups(pid)
            seen.pop(pid)
            time.sleep(0.2)
            return seen == last

        wait_until(is_quiet, "quiet moment")

    def test_after_a_fan_out(self):
        self.check_is_idle_after("/fanout?n=50&delay_ms=10")

    def test_after_tasks_that_had_their_carriers_taken(self):
        self.check_is_idle_after("/fanout?n=4&delay_ms=0&cpu_us=100000", "/sleep?n=100&ms=10")


if __name__ == "__main__":
    fanoutd.main()
