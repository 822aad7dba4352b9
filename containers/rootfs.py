"""Gathers what an image made from nothing needs to run programs of this machine, a Debian: they
themselves, every library that they load, the certificates that https upstreams are checked by, and
the papers of all of that: copyright files, dpkg's records, and a bill of materials (SPDX).

usage: rootfs.py PROGRAM... TARGET_DIRECTORY

What it writes depends on the files alone, and on SOURCE_DATE_EPOCH.
"""

import datetime
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

# Not linked but loaded, by the path of the C library: what backtrace() unwinds with.
LOADED = ["libgcc_s.so.1"]
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
USER = "65532:65532"
SBOM = "/usr/share/doc/fanoutd/sbom.spdx.json"

TEXTS = {
    "/etc/passwd": "root:x:0:0:root:/:/nonexistent\n"
                   f"fanoutd:x:{USER}:fanoutd:/:/nonexistent\n",
    "/etc/group": "root:x:0:\n" f"fanoutd:x:{USER.split(':')[1]}:\n",
    "/etc/nsswitch.conf": "hosts: files dns\n",
}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def libraries_of(program):
    """Where the loader finds them, itself included."""
    listed = run("ldd", program)
    missing = re.findall(r"(\S+) => not found", listed)
    if missing:
        sys.exit(f"rootfs.py: {program} lacks {', '.join(missing)}")
    return set(re.findall(r"(/\S+) \(0x", listed))


def all_libraries(programs):
    libraries = set().union(*map(libraries_of, programs))
    c_library = next(path for path in libraries if "/libc.so." in path)
    for name in LOADED:
        path = os.path.join(os.path.dirname(c_library), name)
        libraries |= {path} | libraries_of(path)
    return libraries


def package_of(path):
    """The package that `path` is from. dpkg knows some files by their name before /lib became a
    link to /usr/lib."""
    path = os.path.realpath(path)
    for name in (path, path.removeprefix("/usr")):
        found = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    sys.exit(f"rootfs.py: no package has {path}")


class Root:
    def __init__(self, directory):
        self.directory = pathlib.Path(directory)

    def __truediv__(self, path):
        return self.directory / path.lstrip("/")

    def copy(self, path):
        """With the links on the way to it, as they are."""
        place = self / path
        if os.path.lexists(place):
            return
        parent = os.path.dirname(path)
        if parent != "/":
            self.copy_directory(parent)
        if os.path.islink(path):
            os.symlink(os.readlink(path), place)
            self.copy(os.path.normpath(os.path.join(parent, os.readlink(path))))
        else:
            shutil.copy(path, place)

    def copy_directory(self, path):
        place = self / path
        if os.path.lexists(place):
            return
        if os.path.dirname(path) != "/":
            self.copy_directory(os.path.dirname(path))
        if os.path.islink(path):
            target = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))
            self.copy_directory(target)
            os.symlink(os.readlink(path), place)
        else:
            place.mkdir(parents=True)

    def write(self, path, text):
        (self / path).parent.mkdir(parents=True, exist_ok=True)
        (self / path).write_text(text)


def add_papers(root, package):
    """The copyright file, the licenses that it refers to, and what scanners read."""
    paper = pathlib.Path(f"/usr/share/doc/{package}/copyright")
    text = paper.read_text(errors="replace")
    root.write(str(paper), text)
    for name in set(re.findall(r"/usr/share/common-licenses/([\w.-]*\w)", text)):
        if os.path.exists(f"/usr/share/common-licenses/{name}"):
            root.copy(f"/usr/share/common-licenses/{name}")
    root.write(f"/var/lib/dpkg/status.d/{package}", run("dpkg-query", "-s", package))
    root.write(f"/var/lib/dpkg/status.d/{package}.md5sums", run("dpkg-query", "--control-show", package, "md5sums"))


def field(package, name):
    return run("dpkg-query", "-W", "-f", f"${{{name}}}", package)


def os_release():
    lines = pathlib.Path("/etc/os-release").read_text().splitlines()
    return {key: value.strip('"') for key, value in (line.split("=", 1) for line in lines if "=" in line)}


def spdx_of_package(package, release):
    version, architecture = field(package, "Version"), field(package, "Architecture")
    purl = (f"pkg:deb/{release['ID']}/{package}@{version.replace('+', '%2B').replace(':', '%3A')}"
            f"?arch={architecture}&distro={release['ID']}-{release['VERSION_ID']}")
    return {
        "SPDXID": f"SPDXRef-Package-{re.sub('[^a-zA-Z0-9.-]', '-', package)}",
        "name": package,
        "versionInfo": version,
        "supplier": "Organization: Debian",
        "sourceInfo": "built from the Debian source package "
                      f"{field(package, 'source:Package')} {field(package, 'source:Version')}",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": f"see /usr/share/doc/{package}/copyright",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": purl}],
    }


def bill_of_materials(programs, packages):
    """SPDX 2.3, https://spdx.github.io/spdx-spec/v2.3/"""
    digests = {program: hashlib.sha256(pathlib.Path(program).read_bytes()).hexdigest() for program in programs}
    version = run(programs[0], "--version").split()[1]
    moment = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH") or 0), datetime.timezone.utc)
    own = [{
        "SPDXID": f"SPDXRef-Program-{os.path.basename(program)}",
        "name": os.path.basename(program),
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "MIT",
        "licenseDeclared": "MIT",
        "copyrightText": "see /usr/share/doc/fanoutd/copyright",
        "checksums": [{"algorithm": "SHA256", "checksumValue": digests[program]}],
    } for program in programs]
    others = [spdx_of_package(package, os_release()) for package in packages]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"fanoutd-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/fanoutd-{version}-{digests[programs[0]][:32]}",
        "creationInfo": {"created": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Tool: fanoutd containers/rootfs.py"]},
        "packages": own + others,
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
             "relatedSpdxElement": one["SPDXID"]} for one in own
        ] + [
            {"spdxElementId": own[0]["SPDXID"], "relationshipType": "DEPENDS_ON",
             "relatedSpdxElement": one["SPDXID"]} for one in others
        ],
    }


def main():
    *programs, directory = sys.argv[1:]
    root = Root(directory)
    libraries = all_libraries(programs)
    packages = sorted({package_of(path) for path in libraries} | {"ca-certificates"})
    for path in sorted(libraries) + [CERTIFICATES, "/etc/os-release", "/etc/debian_version"]:
        root.copy(path)
    for path, text in TEXTS.items():
        root.write(path, text)
    # Where OpenSSL looks by itself.
    root.write("/usr/lib/ssl/cert.pem", "")
    (root / "/usr/lib/ssl/cert.pem").unlink()
    os.symlink(CERTIFICATES, root / "/usr/lib/ssl/cert.pem")
    for package in packages:
        add_papers(root, package)
    for program in programs:
        place = root / f"/usr/local/bin/{os.path.basename(program)}"
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(program, place)
    license_file = pathlib.Path(__file__).parent.parent / "LICENSE"
    root.write("/usr/share/doc/fanoutd/copyright", license_file.read_text())
    root.write(SBOM, json.dumps(bill_of_materials(programs, packages), indent=1) + "\n")


if __name__ == "__main__":
    main()
