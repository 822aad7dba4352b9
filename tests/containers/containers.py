"""podman for the tests: with storage of its own, a base image made here where no registry has one, and
the image under test, built once. What a test starts, it also ends.

A test program that cannot run here ends with 77, which meson counts as skipped, and says why.
"""

import atexit
import contextlib
import glob
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

SOURCE = pathlib.Path(__file__).parents[2]
CACHE = pathlib.Path(os.environ.get("FANOUTD_CONTAINERS", "/var/tmp/fanoutd-containers"))
BASE = "docker.io/library/debian:bookworm-slim"
IMAGE = "localhost/fanoutd-under-test"
SKIPPED = 77


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def run_only_when_asked():
    """Whoever runs all of meson's tests may not want images and groups made."""
    if not os.environ.get("CONTAINER_TESTS"):
        skip("./dev test --containers runs this")


def need(*programs):
    if os.geteuid() != 0:
        skip("needs root")
    missing = [program for program in programs if not shutil.which(program)]
    if missing:
        skip(f"needs {', '.join(missing)}")


def configure():
    """For a machine with cgroups of version 1, 2 or both, and root that may lack capabilities: runc,
    since crun refuses the mixture, and limits that are not raised."""
    CACHE.mkdir(parents=True, exist_ok=True)
    (CACHE / "containers.conf").write_text(
        '[containers]\ndefault_ulimits = ["nofile=20000:20000", "nproc=4096:4096"]\n'
        '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n')
    (CACHE / "storage.conf").write_text(
        f'[storage]\ndriver = "overlay"\ngraphroot = "{CACHE}/storage"\nrunroot = "/run/fanoutd-containers"\n')
    os.environ["CONTAINERS_CONF"] = str(CACHE / "containers.conf")
    os.environ["CONTAINERS_STORAGE_CONF"] = str(CACHE / "storage.conf")
    atexit.register(remove_empty_groups)


def remove_empty_groups():
    """podman leaves its parent groups behind. One that is in use cannot be removed."""
    for parent in glob.glob("/sys/fs/cgroup/*/libpod_parent") + glob.glob("/sys/fs/cgroup/libpod_parent"):
        for directory, _, _ in os.walk(parent, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(directory)


def podman(*arguments, check=True, timeout=120):
    result = subprocess.run(["podman", *map(str, arguments)], capture_output=True, text=True, timeout=timeout)
    if check and result.returncode != 0:
        raise AssertionError(f"podman {' '.join(map(str, arguments))}: {result.returncode}\n{result.stderr}")
    return result


def has_image(name):
    return podman("image", "exists", name, check=False).returncode == 0


def make_base():
    """A stand-in for the official one, from the packages that this machine's own sources name."""
    archive = CACHE / "base.tar"
    if not archive.exists():
        need("mmdebstrap")
        unfinished = CACHE / "base.tar.part"
        subprocess.run([SOURCE / "tests/containers/make-base", unfinished], check=True, timeout=300)
        unfinished.rename(archive)
    podman("import", "-q", archive, BASE)


def fetch_or_make_base():
    if has_image(BASE):
        return
    with contextlib.suppress(subprocess.TimeoutExpired):
        if podman("pull", "-q", BASE, check=False, timeout=30).returncode == 0:
            return
    make_base()


def build_image():
    """As a user does, but for where the build's own containers run: here, with the host's network."""
    environment = {**os.environ, "ENGINE": "podman"}
    result = subprocess.run(
        [SOURCE / "dev", "image", IMAGE, "--isolation=chroot", "--network=host", "--layers"],
        env=environment, capture_output=True, text=True, timeout=600)
    if result.returncode != 0:
        raise AssertionError(result.stdout[-2000:] + result.stderr[-4000:])
    # What is left of earlier ones, but for layers that the newest is made of.
    podman("image", "prune", "-f", "--filter", "until=24h", check=False)


def prepare():
    """Everything that a test of the image needs."""
    run_only_when_asked()
    need("podman", "runc", "buildah")
    configure()
    if podman("info", check=False).returncode != 0:
        skip("podman does not run here")
    fetch_or_make_base()
    build_image()
    if podman("run", "--rm", "--network=none", "--cpus=1", IMAGE, "--version", check=False).returncode != 0:
        skip("podman cannot start a container with a quota here")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def get(port, path, timeout=30):
    """(status, body)"""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=timeout) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def wait_until(condition, what, within_s=20):
    end = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"still no {what}")
        time.sleep(0.02)


class Container:
    """fanoutd in a container with the host's network, on free ports of the loopback interface."""

    def __init__(self, *flags, options=(), env=None):
        self.port, self.slow_port = free_port(), free_port()
        settings = {"FANOUTD_LISTEN": f"127.0.0.1:{self.port}",
                    "FANOUTD_SLOW_LISTEN": f"127.0.0.1:{self.slow_port}", **(env or {})}
        variables = [f"--env={name}={value}" for name, value in settings.items()]
        self.id = podman("run", "-d", "--network=host", *variables, *options, IMAGE, *flags).stdout.strip()
        try:
            wait_until(self.answers, f"answer\n{self.log()}")
        except BaseException:
            self.remove()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()

    def answers(self):
        if not self.inspect("State")["Running"]:
            raise AssertionError(self.log())
        try:
            return get(self.port, "/readyz")[0] == 200
        except OSError:
            return False

    def remove(self):
        podman("rm", "-f", "-t", "0", self.id, check=False)

    def log(self):
        result = podman("logs", self.id, check=False)
        return result.stdout + result.stderr

    def inspect(self, part):
        return json.loads(podman("inspect", self.id).stdout)[0][part]

    def get(self, path, **how):
        return get(self.port, path, **how)


class Files:
    """What is in the image."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory(dir=CACHE)
        self.root = pathlib.Path(self.directory.name)
        container = podman("create", IMAGE).stdout.strip()
        try:
            # From the export: what podman adds when it mounts a container is not in it.
            export = subprocess.Popen(["podman", "export", container], stdout=subprocess.PIPE)
            subprocess.run(["tar", "-x", "--no-same-owner", "-C", self.root], stdin=export.stdout, check=True)
            export.stdout.close()
            if export.wait() != 0:
                raise AssertionError("podman export failed")
        finally:
            podman("rm", container)

    def close(self):
        self.directory.cleanup()


def main():
    unittest.main(verbosity=2)
