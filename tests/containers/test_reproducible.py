"""The same commit gives the same programs, whatever the directory is called."""

import hashlib
import json
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
        """The image's build is the second one, if it had the compiler and the packages of the first."""
        with tempfile.TemporaryDirectory(prefix="another-name-") as directory:
            other = built_in_the_image(pathlib.Path(directory)) or build(pathlib.Path(directory))
            for name in PROGRAMS:
                self.assertEqual(digest(compressed(other / name, directory)),
                                 digest(compressed(BUILD / name, directory)), name)
                self.assertNotIn(str(BUILD).encode(), (BUILD / name).read_bytes())


def built_in_the_image(directory):
    """Where its programs are now, as in a build directory; None if other tools or packages made them."""
    files = containers.Files()
    try:
        with open(files.root / "usr/share/doc/fanoutd/sbom.spdx.json", encoding="utf-8") as file:
            packages = {one["name"]: one["versionInfo"] for one in json.load(file)["packages"]}
        (directory / "server").mkdir()
        for name in PROGRAMS:
            (directory / name).write_bytes((files.root / "usr/local/bin" / os.path.basename(name)).read_bytes())
    finally:
        files.close()
    for name in PROGRAMS:
        del packages[os.path.basename(name)]
    installed = run("dpkg-query", "-W", "-f", "${Package}=${Version}\n", check=False).splitlines()
    are_same = all(f"{name}={version}" in installed for name, version in packages.items())
    are_same = are_same and compiler_of(directory / PROGRAMS[0]) == compiler_of(BUILD / PROGRAMS[0])
    print("compared with the image's" if are_same else "compared with a second build")
    return directory if are_same else None


def build(directory):
    source, tree = directory / "of-the-source", directory / "elsewhere/tree"
    source.mkdir()
    for name in ["meson.build", "meson_options.txt", *FOLDERS]:
        run("cp", "-r", containers.SOURCE / name, source)
    run("meson", "setup", tree, source, "-Dtests=false")
    run("ninja", "-C", tree)
    return tree


def run(*command, check=True):
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if check and result.returncode != 0:
        raise AssertionError(result.stdout + result.stderr)
    return result.stdout


def compiler_of(program):
    return run("readelf", "-p", ".comment", program)


def compressed(program, directory):
    """As the image has them."""
    copy = pathlib.Path(directory) / "compressed"
    run("objcopy", "--compress-debug-sections=zlib", program, copy)
    return copy


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    containers.prepare()
    options = run("meson", "introspect", BUILD, "--buildoptions")
    if '"debugoptimized"' not in options:
        containers.skip("not the build that is shipped")
    containers.main()
