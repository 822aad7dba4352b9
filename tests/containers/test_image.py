"""The image: what is in it, what is not, and that it runs as the README says."""

import hashlib
import json
import os
import re
import subprocess
import time
import unittest

import containers
from containers import Container, podman

SOURCE = containers.SOURCE
MOST_BYTES = 25_000_000
RESTRICTED = ["--read-only", "--cap-drop=all", "--security-opt=no-new-privileges", "--memory=64m", "--cpus=0.5"]
LIBRARY = re.compile(r"\.so(\.[\d.]+)?$")


class Contents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.files = containers.Files()
        cls.addClassCleanup(cls.files.close)
        cls.root = cls.files.root
        cls.paths = [os.path.join(directory, name)
                     for directory, _, names in os.walk(cls.root) for name in names]
        cls.config = json.loads(podman("image", "inspect", containers.IMAGE).stdout)[0]
        with open(cls.root / "usr/share/doc/fanoutd/sbom.spdx.json", encoding="utf-8") as file:
            cls.sbom = json.load(file)

    def test_are_small(self):
        used = sum(os.lstat(path).st_size for path in self.paths)
        print(f"{used:,} bytes unpacked, {self.config['Size']:,} by podman's count")
        self.assertLess(used, MOST_BYTES)
        self.assertLess(self.config["Size"], MOST_BYTES)

    def test_can_be_run_only_as_far_as_they_are_ours(self):
        programs = {os.path.relpath(path, self.root) for path in self.paths
                    if os.access(path, os.X_OK) and not os.path.islink(path) and not LIBRARY.search(path)}
        self.assertEqual(programs, {"usr/local/bin/fanoutd", "usr/local/bin/slow-endpoint"})

    def test_have_every_package_in_the_bill_of_materials_and_for_scanners(self):
        named = {package["name"] for package in self.sbom["packages"]}
        scanned = {name for name in os.listdir(self.root / "var/lib/dpkg/status.d")
                   if not name.endswith(".md5sums")}
        self.assertEqual(named, scanned | {"fanoutd", "slow-endpoint"})
        self.assertIn("libgcc-s1", scanned)
        for package in scanned:
            status = (self.root / "var/lib/dpkg/status.d" / package).read_text()
            version = re.search("^Version: (.*)$", status, re.MULTILINE)[1]
            entry = next(one for one in self.sbom["packages"] if one["name"] == package)
            self.assertEqual(entry["versionInfo"], version)
            self.assertTrue(entry["externalRefs"][0]["referenceLocator"].startswith("pkg:deb/debian/"))
            self.assertTrue((self.root / f"usr/share/doc/{package}/copyright").read_text())

    def test_are_files_of_those_packages(self):
        """By what dpkg knows of each file, but for what is ours and what is made at installation."""
        known = set()
        for list_of_sums in (self.root / "var/lib/dpkg/status.d").glob("*.md5sums"):
            for line in list_of_sums.read_text().splitlines():
                digest, path = line.split(None, 1)
                known.add((digest, "/" + path.removeprefix("usr/")))
        libraries = [path for path in self.paths if LIBRARY.search(path) and not os.path.islink(path)]
        self.assertGreater(len(libraries), 30)
        for path in libraries:
            with open(path, "rb") as file:
                digest = hashlib.md5(file.read()).hexdigest()
            name = "/" + os.path.relpath(path, self.root).removeprefix("usr/")
            self.assertIn((digest, name), known)

    def test_have_no_link_that_leads_nowhere(self):
        for path in self.paths:
            if os.path.islink(path):
                target = os.path.join(os.path.dirname(path), os.readlink(path))
                if os.readlink(path).startswith("/"):
                    target = str(self.root) + os.readlink(path)
                self.assertTrue(os.path.exists(target), path)

    def test_include_certificates_where_openssl_and_curl_look(self):
        for name in ("etc/ssl/certs/ca-certificates.crt", "usr/lib/ssl/cert.pem"):
            self.assertTrue(os.path.lexists(self.root / name), name)
        bundle = (self.root / "etc/ssl/certs/ca-certificates.crt").read_text()
        self.assertGreater(bundle.count("BEGIN CERTIFICATE"), 100)

    def test_are_described(self):
        config = self.config["Config"]
        self.assertEqual(config["User"], "65532:65532")
        self.assertEqual(config["Entrypoint"], ["/usr/local/bin/fanoutd"])
        self.assertEqual(config["StopSignal"], "SIGTERM")
        self.assertEqual(self.config["Healthcheck"]["Test"], ["CMD", "/usr/local/bin/fanoutd", "--healthcheck"])
        version = podman("run", "--rm", "--network=none", containers.IMAGE, "--version").stdout.split()[1]
        labels = {name.removeprefix("org.opencontainers.image."): value
                  for name, value in self.config["Labels"].items()}
        self.assertEqual(labels["title"], "fanoutd")
        self.assertEqual(labels["licenses"], "MIT")
        self.assertEqual(labels["version"], version)
        self.assertEqual(labels["base.name"], containers.BASE)
        self.assertTrue(labels["revision"] and labels["created"] and labels["description"])

    def test_are_made_for_any_architecture(self):
        for name in ("Containerfile", "rootfs.py"):
            text = (SOURCE / "containers" / name).read_text()
            self.assertIsNone(re.search("x86|amd64|aarch64|arm64|linux-gnu", text), name)


class Running(unittest.TestCase):
    def test_answers_on_every_executor_as_restricted_as_can_be(self):
        for executor in ("coroutine", "pool"):
            with Container(options=RESTRICTED, env={"FANOUTD_EXECUTOR": executor}) as container:
                status, body = container.get("/fanout?n=1000&delay_ms=100")
                answer = json.loads(body)
                self.assertEqual((status, answer["executor"], answer["ok"]), (200, executor, 1000))
        with Container("--executor", "pool", options=RESTRICTED) as container:
            self.assertEqual(json.loads(container.get("/fanout?n=10&delay_ms=1")[1])["executor"], "pool")

    def test_names_the_function_of_a_pinned_task(self):
        with Container("--experiments", options=RESTRICTED) as container:
            self.assertEqual(container.get("/pinned?n=1&delay_ms=200")[0], 200)
            event = json.loads(container.get("/debug/pinned")[1])["events"][0]
            frames = {frame["function"]: frame.get("file") for frame in event["stack"]}
            self.assertEqual(frames["blocking_call"], "clients/blocking_client.c")
            # One that computes is asked by a signal: that takes backtrace(), and so libgcc.
            self.assertEqual(container.get("/cpu?n=1&iterations=300000000")[0], 200)
            events = json.loads(container.get("/debug/pinned")[1])["events"]
            computing = [event for event in events if event["kind"] == "cpu"]
            self.assertIn("handlers/cpu.c", [frame.get("file") for frame in computing[0]["stack"]])

    def test_tells_whether_it_is_healthy(self):
        with Container(options=RESTRICTED) as container:
            self.assertEqual(podman("healthcheck", "run", container.id, check=False).returncode, 0)
            url = f"http://127.0.0.1:{container.slow_port}/stats"
            podman("exec", container.id, "/usr/local/bin/fanoutd", "--healthcheck", url)
            url = f"http://127.0.0.1:{container.slow_port}/nothing"
            failed = podman("exec", container.id, "/usr/local/bin/fanoutd", "--healthcheck", url, check=False)
            self.assertEqual(failed.returncode, 1)

    def test_stops_at_once_when_idle(self):
        """As process 1, which ignores signals that it has no handler for."""
        with Container(options=RESTRICTED) as container:
            self.assertEqual(podman("exec", container.id, "/usr/local/bin/fanoutd", "--version").returncode, 0)
            pid = container.inspect("State")["Pid"]
            with open(f"/proc/{pid}/status", encoding="ascii") as status:
                fields = dict(line.rstrip("\n").split(":\t", 1) for line in status)
            self.assertEqual(fields["NSpid"].split()[-1], "1")
            self.assertEqual(fields["CapEff"], "0" * 16)
            self.assertEqual(fields["NoNewPrivs"], "1")
            self.assertEqual(fields["Uid"].split(), ["65532"] * 4)
            self.assertEqual(fields["Seccomp"], "2")
            start = time.monotonic()
            os.kill(pid, 15)
            containers.wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "end", 1)
            print(f"gone after {time.monotonic() - start:.3f} s")
            podman("wait", container.id)
            self.assertEqual(container.inspect("State")["ExitCode"], 0)

    def test_answers_what_is_under_way_when_it_is_stopped(self):
        with Container(options=RESTRICTED) as container:
            client = subprocess.Popen(
                ["curl", "-s", f"http://127.0.0.1:{container.port}/fanout?n=10&delay_ms=1500"],
                stdout=subprocess.PIPE, text=True)
            containers.wait_until(
                lambda: json.loads(containers.get(container.slow_port, "/stats")[1])["in_flight"] == 10, "calls")
            podman("stop", "-t", "30", container.id)
            self.assertEqual(json.loads(client.communicate(timeout=30)[0])["ok"], 10)
            self.assertEqual(container.inspect("State")["ExitCode"], 0)


if __name__ == "__main__":
    containers.prepare()
    containers.main()
