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
WHOLE = ["--compress-debug-sections=zlib"]
# And without the linker's digest of all that there was.
WITHOUT_DEBUG_INFORMATION = ["--strip-debug", "--remove-section=.note.gnu.build-id"]
FOLDERS = ["clients", "executors", "handlers", "server"]


class Programs(unittest.TestCase):
    """The image's build is the second one. Where its libraries are of other versions than here, their
    headers have their declarations on other lines, so that debug information differs: then one
    program is built here once more."""

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="another-name-")
        cls.addClassCleanup(directory.cleanup)
        cls.directory = pathlib.Path(directory.name)
        files = containers.Files()
        cls.addClassCleanup(files.close)
        cls.image = {name: files.root / "usr/local/bin" / os.path.basename(name) for name in PROGRAMS}
        with open(files.root / "usr/share/doc/fanoutd/sbom.spdx.json", encoding="utf-8") as file:
            packages = json.load(file)["packages"]
        installed = run("dpkg-query", "-W", "-f", "${Package}=${Version}\n").splitlines()
        cls.has_same_packages = all(f"{one['name']}={one['versionInfo']}" in installed
                                    for one in packages if "externalRefs" in one)
        cls.has_same_compiler = compiler_of(cls.image[PROGRAMS[0]]) == compiler_of(BUILD / PROGRAMS[0])

    def check(self, others, how):
        for name, other in others.items():
            self.assertEqual(digest(other, how), digest(BUILD / name, how), name)
            self.assertNotIn(str(containers.SOURCE).encode(), (BUILD / name).read_bytes())

    def test_are_those_of_the_image(self):
        if not self.has_same_compiler:
            self.skipTest("another compiler made them")
        self.check(self.image, WHOLE if self.has_same_packages else WITHOUT_DEBUG_INFORMATION)

    def test_are_those_of_another_directory(self):
        if self.has_same_compiler and self.has_same_packages:
            self.skipTest("the image was that")
        tree = self.directory / "elsewhere/tree"
        source = self.directory / "of-the-source"
        source.mkdir()
        for name in ["meson.build", "meson_options.txt", *FOLDERS]:
            run("cp", "-r", containers.SOURCE / name, source)
        run("meson", "setup", tree, source, "-Dtests=false")
        built = PROGRAMS[1:] if self.has_same_compiler else PROGRAMS
        run("ninja", "-C", tree, *built)
        self.check({name: tree / name for name in built}, WHOLE)


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if result.returncode != 0:
        raise AssertionError(result.stdout + result.stderr)
    return result.stdout


def compiler_of(program):
    return run("readelf", "-p", ".comment", program)


def digest(program, how):
    with tempfile.NamedTemporaryFile() as copy:
        run("objcopy", *how, program, copy.name)
        return hashlib.sha256(pathlib.Path(copy.name).read_bytes()).hexdigest()


if __name__ == "__main__":
    containers.prepare()
    options = run("meson", "introspect", BUILD, "--buildoptions")
    if '"debugoptimized"' not in options:
        containers.skip("this is not the build that is shipped")
    containers.main()
