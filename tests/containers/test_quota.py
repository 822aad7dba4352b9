"""Carriers follow the quota of the container, of either cgroup version; and a container with little memory
refuses what does not fit."""

import json
import math
import os
import re
import unittest

import containers
from containers import Container, podman

HOST_CPUS = len(os.sched_getaffinity(0))


def carriers_for(cpus):
    return min(HOST_CPUS, math.ceil(cpus))


def metric(container, name):
    return float(re.search(rf"^{re.escape(name)} (\S+)$", container.get("/metrics")[1], re.MULTILINE)[1])


class Quota(unittest.TestCase):
    def check(self, container, cpus):
        containers.wait_until(
            lambda: metric(container, "fanoutd_carriers") == carriers_for(cpus), f"carriers for {cpus} CPUs", 2)
        self.assertEqual(metric(container, "fanoutd_cpu_quota_cores"), cpus)
        self.assertEqual(container.get("/livez")[0], 200)
        status, body = container.get("/fanout?n=200&delay_ms=100")
        self.assertEqual((status, json.loads(body)["ok"]), (200, 200))

    def test_is_read_at_the_start(self):
        for cpus in (0.25, 0.5, 1, 1.5, 2):
            with self.subTest(cpus=cpus), Container(options=[f"--cpus={cpus}"]) as container:
                self.check(container, cpus)
                line = re.search("event=started .*", container.log())[0]
                self.assertRegex(line, rf'usable_cpus={carriers_for(cpus)} quota_cpus={cpus} .*'
                                       rf'limited_by="/sys/fs/cgroup.*" carriers={carriers_for(cpus)} ')

    def test_is_followed_while_the_container_runs(self):
        with Container(options=["--cpus=0.5"]) as container:
            for cpus in (0.5, 1.5, 0.25, 2, 1):
                podman("update", f"--cpus={cpus}", container.id)
                self.check(container, cpus)

    def test_a_quarter_of_a_cpu_answers_while_it_is_all_used(self):
        with Container("--experiments", options=["--cpus=0.25"]) as container:
            self.assertEqual(container.get("/cpu?n=4&iterations=100000000")[0], 200)
            containers.wait_until(
                lambda: metric(container, "fanoutd_cgroup_throttled_seconds_total") > 0, "throttling")
            self.assertEqual(container.get("/livez")[0], 200)


class Memory(unittest.TestCase):
    """The endpoint is outside: that of a container without a limit."""

    def test_what_does_not_fit_is_refused(self):
        with Container() as outside:
            upstream = f"--upstream=http://127.0.0.1:{outside.slow_port}/slow"
            with Container(upstream, "--slow-listen=off", options=["--memory=64m", "--read-only"]) as container:
                self.assertEqual(json.loads(container.get("/fanout?n=3000&delay_ms=500")[1])["ok"], 3000)
                status, body = container.get("/fanout?n=10000")
                self.assertEqual(status, 503)
                self.assertIn("memory limit of 67108864 bytes", json.loads(body)["detail"])
                self.assertFalse(container.inspect("State")["OOMKilled"])


if __name__ == "__main__":
    containers.prepare()
    containers.main()
