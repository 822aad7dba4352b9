"""The same commit gives the same programs, whatever the directory is called."""

import hashlib
import os
import pathlib
import subprocess
import tempfile
import unittest

import containers

BUILD = pathlib.Path(os.environ["BUILD"])
PROGRAMS = ["server/fanoutd", "server/slow-endpoint"]
FOLDERS = ["clients", "executors", "handlers", "server"]


class Programs(unittest.TestCase):
    def test_do_not_depend_on_where_they_are_built(self):
        with tempfile.TemporaryDirectory(prefix="another-name-") as directory:
            source = pathlib.Path(directory) / "of-the-source"
            source.mkdir()
            for name in ["meson.build", "meson_options.txt", *FOLDERS]:
                subprocess.run(["cp", "-r", containers.SOURCE / name, source], check=True)
            build = pathlib.Path(directory) / "elsewhere/tree"
            run("meson", "setup", build, source, "-Dtests=false")
            run("ninja", "-C", build)
            for name in PROGRAMS:
                self.assertEqual(digest(build / name), digest(BUILD / name), name)
                self.assertNotIn(directory.encode(), (build / name).read_bytes())


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if result.returncode != 0:
        raise AssertionError(result.stdout + result.stderr)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    containers.run_only_when_asked()
    options = subprocess.run(["meson", "introspect", BUILD, "--buildoptions"],
                             capture_output=True, check=True).stdout
    if b'"debugoptimized"' not in options:
        containers.skip("not the build that is shipped")
    containers.main()
