"""Carriers follow quota, cpuset and membership of cgroup v1, on the group and above it, while requests run;
and what does not fit into a memory limit is refused. In groups made for this, without a container."""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import unittest

import containers

sys.path.insert(0, str(containers.SOURCE / "tests/integration"))
from fanoutd import Server, wait_until  # noqa: E402

PERIOD_US = 100000
IN_QUOTA = str(containers.SOURCE / "loadtests/in-quota")


def mount_of(controller):
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        _, point, kind, options, *_ = line.split()
        if kind == "cgroup" and controller in options.split(","):
            return pathlib.Path(point)
    raise unittest.SkipTest(f"no cgroup v1 with {controller}")


class Group:
    def __init__(self, controller, name):
        self.path = mount_of(controller) / name

    def __enter__(self):
        try:
            self.path.mkdir()
        except OSError as error:
            raise unittest.SkipTest(f"no cgroup can be made here: {error}") from error
        return self

    def __exit__(self, *_):
        # Tasks leave their group a moment after they have been waited for.
        def removed():
            with contextlib.suppress(OSError):
                self.path.rmdir()
            return not self.path.exists()

        wait_until(removed, "removal of the group", 5)

    def set(self, name, value):
        (self.path / name).write_text(str(value))

    def get(self, name):
        return (self.path / name).read_text()

    def set_cpus(self, cpus):
        self.set("cpu.cfs_quota_us", int(cpus * PERIOD_US))

    def lift(self):
        self.set("cpu.cfs_quota_us", -1)

    def take(self, pid):
        self.set("cgroup.procs", pid)


@contextlib.contextmanager
def outside():
    """A slow endpoint that no limit of the fan-out's holds back: its URL."""
    with Server(executor="thread") as server:
        yield f"http://127.0.0.1:{server.slow_port}/slow"


class Cpu(unittest.TestCase):
    def setUp(self):
        self.cpus = len(os.sched_getaffinity(0))
        if self.cpus < 2:
            self.skipTest("one CPU only")
        self.stack = self.enterContext(contextlib.ExitStack())

    def group(self, controller, name):
        return self.stack.enter_context(Group(controller, f"fanoutd-{os.getpid()}{name}"))

    def start(self, *flags):
        upstream = self.stack.enter_context(outside())
        self.server = self.stack.enter_context(Server("--upstream", upstream, *flags, slow_listen="off"))

    def expect(self, carriers):
        wait_until(lambda: self.server.metrics()["fanoutd_carriers"] == carriers, f"{carriers} carriers", 2)
        self.assertEqual(self.server.get("/fanout?n=50&delay_ms=1").json()["ok"], 50)

    def keep_asking(self):
        """Requests without a pause until the test ends; then how many there were and that none failed."""
        ended = threading.Event()
        answers = []

        def ask():
            while not ended.is_set():
                answers.append(self.server.get("/fanout?n=100&delay_ms=20").json()["ok"])

        def check():
            ended.set()
            asking.join()
            self.assertGreater(len(answers), 10)
            self.assertEqual(set(answers), {100})

        asking = threading.Thread(target=ask)
        asking.start()
        self.stack.callback(check)

    def test_limits_that_change_on_the_way_up_are_followed(self):
        outer = self.group("cpu", "-outer")
        inner = self.group("cpu", "-outer/inner")
        other = self.group("cpu", "-other")
        cpuset = self.group("cpuset", "")
        for name in ("cpuset.cpus", "cpuset.mems"):
            cpuset.set(name, (cpuset.path.parent / name).read_text())
        self.start("--experiments")
        inner.take(self.server.process.pid)
        cpuset.take(self.server.process.pid)
        self.expect(self.cpus)
        self.keep_asking()
        outer.set_cpus(1)
        self.expect(1)
        outer.set_cpus(1.5)
        self.expect(2)
        inner.set_cpus(0.5)
        self.expect(1)
        outer.lift()
        inner.lift()
        self.expect(self.cpus)
        other.set_cpus(0.25)
        other.take(self.server.process.pid)
        self.expect(1)
        self.assertEqual(self.server.get("/livez").status, 200)
        self.assertEqual(self.server.metrics()["fanoutd_cpu_quota_cores"], 0.25)
        burning = self.server.in_background("/cpu?n=1&iterations=300000000")
        wait_until(lambda: self.server.metrics()["fanoutd_cgroup_throttled_periods_total"] > 0, "throttling")
        self.assertEqual(self.server.get("/livez").status, 200)
        self.assertEqual(burning.join().json()["ok"], 1)
        metrics = self.server.metrics()
        self.assertGreaterEqual(metrics["fanoutd_cgroup_periods_total"],
                                metrics["fanoutd_cgroup_throttled_periods_total"])
        self.assertGreater(metrics["fanoutd_cgroup_throttled_seconds_total"], 0)
        other.lift()
        self.expect(self.cpus)
        cpuset.set("cpuset.cpus", min(os.sched_getaffinity(0)))
        self.expect(1)


class Memory(unittest.TestCase):
    def check(self, limit, body):
        with Group("memory", f"fanoutd-{os.getpid()}") as group, outside() as upstream:
            group.set("memory.limit_in_bytes", limit)
            # Started in the group, so that all it takes counts.
            enter = f"echo $$ >{group.path}/cgroup.procs; exec \"$0\" \"$@\""
            with Server("--upstream", upstream, slow_listen="off", through=["sh", "-c", enter]) as server:
                body(server)
            self.assertRegex(group.get("memory.oom_control"), "(?m)^oom_kill 0$")

    def post_large(self, server):
        """A list whose replies have 20 MB: more than a request may keep."""
        calls = [{"id": str(i), "url": "/slow?ms=100&bytes=100000"} for i in range(200)]
        reply = server.request("POST", "/fanout", json.dumps({"requests": calls}),
                               {"Content-Type": "application/json"})
        if reply.status == 200:
            self.assertGreater(reply.json()["coverage"]["degraded"]["too_large"], 0)
        self.statuses.append(reply.status)

    def test_64_mib(self):
        self.statuses = []

        def body(server):
            self.assertEqual(server.get("/fanout?n=3000&delay_ms=500").json()["ok"], 3000)
            replies = [server.in_background("/fanout?n=3000&delay_ms=500") for _ in range(3)]
            self.assertIn(200, [self.completes_or_names_the_limit(reply.join(), 3000) for reply in replies])
            self.assertEqual(self.completes_or_names_the_limit(server.get("/fanout?n=10000"), 10000), 503)
            lists = [threading.Thread(target=self.post_large, args=(server,)) for _ in range(6)]
            for thread in lists:
                thread.start()
            for thread in lists:
                thread.join()
            self.assertIn(200, self.statuses)
            self.assertLessEqual(set(self.statuses), {200, 503})
            self.assertEqual(server.metrics()['fanoutd_request_memory_bytes{of="taken"}'], 0)

        self.check("64M", body)

    def test_256_mib(self):
        self.check("256M", lambda server: self.assertEqual(
            server.get("/fanout?n=10000&delay_ms=500").json()["ok"], 10000))

    def completes_or_names_the_limit(self, reply, count):
        if reply.status == 200:
            self.assertEqual(reply.json()["ok"], count)
        else:
            self.assertIn("memory limit of 67108864 bytes", reply.json()["detail"])
        return reply.status


class InQuota(unittest.TestCase):
    def test_puts_its_command_alone_into_a_group(self):
        mount = mount_of("cpu")
        script = f"echo $$; cat {mount}/in-quota-$$/cgroup.procs {mount}/in-quota-$$/cpu.cfs_quota_us; exit 3"
        process = subprocess.Popen([IN_QUOTA, "0.5", "sh", "-c", script], stdout=subprocess.PIPE, text=True)
        output = process.communicate(timeout=10)[0].split()
        pid = str(process.pid)
        # cat itself is the third.
        self.assertEqual((output[0], output[1], output[-1]), (pid, pid, "50000"))
        self.assertEqual(process.returncode, 3)
        wait_until(lambda: not (mount / f"in-quota-{pid}").exists(), "removal of the group")

    def test_refuses_what_it_cannot_do(self):
        for cpus in ("0", "half", "1.2.3", "", "-1"):
            result = subprocess.run([IN_QUOTA, cpus, "true"], capture_output=True, text=True)
            self.assertEqual((result.returncode, result.stderr.count("\n")), (125, 1), cpus)

    def test_refuses_users_without_a_manager_of_their_own(self):
        result = subprocess.run([IN_QUOTA, "0.5", "true"], capture_output=True, text=True, cwd="/",
                                user=65534, group=65534, extra_groups=[],
                                env={"PATH": os.environ["PATH"]})
        self.assertEqual(result.returncode, 125)
        self.assertRegex(result.stderr, re.compile(r"cannot be made, and .*systemd-run"))


class Benchmark(unittest.TestCase):
    def test_measures_within_a_quota(self):
        mount_of("cpu")
        with tempfile.TemporaryDirectory() as results:
            result = subprocess.run(
                [sys.executable, containers.SOURCE / "loadtests/quota.py", os.environ["BUILD"], "--quick",
                 "--only", "coroutine cpus=0.5", "--results", results], capture_output=True, text=True)
            self.assertEqual(result.returncode, 0, result.stderr)
            saved, = pathlib.Path(results).glob("*/quota.json")
            cells = json.loads(saved.read_text())["cells"]
        self.assertEqual([cell["load"] for cell in cells], ["Fan-out", "Mixed"])
        for cell in cells:
            sample, = cell["samples"]
            self.assertEqual(sample["failed"], 0)
            self.assertGreater(sample["periods"], 0)
            self.assertLess(sample["cpu_s"], 0.5 * sample["seconds"] + 0.1)


if __name__ == "__main__":
    containers.need()
    try:
        mount_of("cpu")
    except unittest.SkipTest as none:
        containers.skip(none)
    containers.main()
