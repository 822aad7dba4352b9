"""Carriers follow the CPUs that fanoutd may use while it runs, and no request notices."""

import contextlib
import os
import unittest

import fanoutd
from fanoutd import Server, wait_until

CGROUP_V1 = "/sys/fs/cgroup/cpu"
CGROUP_V2 = "/sys/fs/cgroup"
PERIOD_US = 100000


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


class CpuGroup:
    """A cgroup of its own with a CPU quota, of either version. SkipTest where none may be made."""

    def __init__(self):
        self.is_v2 = os.path.exists(f"{CGROUP_V2}/cgroup.controllers")
        self.path = f"{CGROUP_V2 if self.is_v2 else CGROUP_V1}/fanoutd-test-{os.getpid()}"

    def __enter__(self):
        try:
            os.mkdir(self.path)
        except OSError as error:
            raise unittest.SkipTest(f"no cgroup can be made here: {error}") from error
        try:
            self.set_cpus(1)
        except OSError as error:
            os.rmdir(self.path)
            raise unittest.SkipTest(f"no CPU quota can be set here: {error}") from error
        return self

    def __exit__(self, *_):
        os.rmdir(self.path)

    def set_cpus(self, cpus):
        quota_us = int(cpus * PERIOD_US)
        if self.is_v2:
            write(f"{self.path}/cpu.max", f"{quota_us} {PERIOD_US}")
        else:
            write(f"{self.path}/cpu.cfs_period_us", str(PERIOD_US))
            write(f"{self.path}/cpu.cfs_quota_us", str(quota_us))

    def take(self, pid):
        write(f"{self.path}/cgroup.procs", str(pid))


@contextlib.contextmanager
def slow_endpoint_outside():
    """A slow endpoint that no quota of the fan-out's holds back: that of another server."""
    with Server(executor="thread") as server:
        yield f"http://127.0.0.1:{server.slow_port}/slow"


def carriers(server):
    return server.metrics()["fanoutd_carriers"]


class LiveQuota(unittest.TestCase):
    def wait_for_carriers(self, server, count):
        # Read every second, so within two.
        wait_until(lambda: carriers(server) == count, f"{count} carriers", within_s=2)

    def check_follows(self, server, change, before, after):
        """Carriers follow @change, which is undone again, in the middle of a fan-out."""
        self.wait_for_carriers(server, before)
        reply = server.in_background("/fanout?n=500&delay_ms=3000")
        parked = 'fanoutd_tasks{executor="coroutine",state="parked"}'
        wait_until(lambda: server.metrics()[parked] > 500, "calls in flight, and their parent")
        change(after)
        self.wait_for_carriers(server, after)
        self.assertEqual(server.get("/fanout?n=100&delay_ms=10").json()["ok"], 100)
        change(before)
        self.wait_for_carriers(server, before)
        self.assertEqual(server.get("/fanout?n=100&delay_ms=10").json()["ok"], 100)
        self.assertEqual(reply.join().json()["ok"], 500)

    def test_carriers_follow_the_affinity_of_the_main_thread(self):
        cpus = sorted(os.sched_getaffinity(0))
        with Server() as server:
            if carriers(server) != len(cpus) or len(cpus) < 2:
                self.skipTest("one CPU only, or a quota holds already")
            self.check_follows(
                server,
                lambda count: os.sched_setaffinity(server.process.pid, cpus[:count]),
                before=len(cpus),
                after=1,
            )

    def test_carriers_follow_the_quota_and_half_a_cpu_is_one_carrier(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one CPU only")
        with CpuGroup() as group, slow_endpoint_outside() as upstream:
            with Server("--upstream", upstream, slow_listen="off") as server:
                group.set_cpus(0.5)
                group.take(server.process.pid)
                self.wait_for_carriers(server, 1)
                metrics = server.metrics()
                self.assertEqual(metrics["fanoutd_cpu_quota_cores"], 0.5)
                self.assertEqual(server.get("/fanout?n=1000&delay_ms=1000").json()["ok"], 1000)
                self.check_follows(
                    server, lambda count: group.set_cpus(count - 0.5), before=1, after=2
                )

    def test_a_number_of_carriers_that_was_asked_for_stays(self):
        with Server("--carriers", "3") as server:
            self.assertEqual(carriers(server), 3)
            os.sched_setaffinity(server.process.pid, sorted(os.sched_getaffinity(0))[:1])
            wait_until(lambda: server.metrics()["fanoutd_usable_cpus"] == 1, "new affinity", 2)
            self.assertEqual(carriers(server), 3)


if __name__ == "__main__":
    fanoutd.main()
