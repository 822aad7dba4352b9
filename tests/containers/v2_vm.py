"""A throw-away virtual machine with cgroup v2 alone, whatever this machine has: Debian's kernel, busybox,
and the programs under test. Emulated (no KVM), so that it runs anywhere; it boots in some 4 s.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import containers

INIT = """\
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmpfs /tmp
ip link set lo up
mount -t cgroup2 -o nsdelegate cgroup2 /sys/fs/cgroup
for controller in cpu cpuset memory; do
	echo +$controller >/sys/fs/cgroup/cgroup.subtree_control
done
echo @@begin
sh /job </dev/null 2>&1
echo "@@end $?"
poweroff -f
"""


KERNEL = "vmlinuz"


def prepare():
    """Everything that run() needs. The kernel is Debian's smallest, not installed but unpacked, once."""
    containers.need("qemu-system-x86_64", "busybox", "cpio")
    if os.uname().machine != "x86_64":
        containers.skip("the kernel and the programs in the machine are for x86_64")
    if (containers.CACHE / KERNEL).exists():
        return
    containers.CACHE.mkdir(parents=True, exist_ok=True)
    depends = subprocess.run(["apt-cache", "depends", "linux-image-cloud-amd64"], capture_output=True, text=True)
    package = re.search(r"Depends: (linux-image-\S+)", depends.stdout)
    if not package:
        containers.skip("apt knows no linux-image-cloud-amd64")
    with tempfile.TemporaryDirectory(dir=containers.CACHE) as directory:
        fetched = subprocess.run(["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", package[1]],
                                 cwd=directory, capture_output=True, text=True)
        if fetched.returncode != 0:
            containers.skip(f"{package[1]} cannot be fetched: {fetched.stderr.strip()}")
        archive, = pathlib.Path(directory).glob("*.deb")
        subprocess.run(["dpkg-deb", "-x", archive, directory], check=True)
        found, = pathlib.Path(directory).glob("boot/vmlinuz*")
        found.rename(containers.CACHE / KERNEL)


def put(root, source, destination):
    """A program, with the libraries that it needs."""
    target = root / destination.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)
    needed = subprocess.run(["ldd", source], capture_output=True, text=True).stdout
    for library in re.findall(r"/\S+\.so\S*", needed):
        copy = root / library.lstrip("/")
        if not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, copy)


def make_initrd(directory, files, job):
    root = directory / "root"
    for name in ("bin", "proc", "sys", "dev", "tmp"):
        (root / name).mkdir(parents=True)
    shutil.copy("/bin/busybox", root / "bin/busybox")
    for destination, source in files.items():
        put(root, source, destination)
    (root / "job").write_text(job)
    (root / "init").write_text(INIT)
    (root / "init").chmod(0o755)
    initrd = directory / "initrd"
    with open(initrd, "wb") as out:
        subprocess.run("find . | cpio -o -H newc --quiet", shell=True, cwd=root, stdout=out, check=True)
    return initrd


def run(job, files, cpus=8, memory_mib=768, timeout=120):
    """Run the shell script @job as root in the machine, with @files: {where: what}. Returns its exit code and
    what it printed."""
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        initrd = make_initrd(directory, files, job)
        output = directory / "output"
        subprocess.run(
            ["qemu-system-x86_64", "-M", "pc", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", str(cpus),
             "-m", str(memory_mib), "-display", "none", "-monitor", "none", "-nic", "none", "-no-reboot",
             "-serial", f"file:{output}", "-kernel", containers.CACHE / KERNEL, "-initrd", initrd,
             "-append", "console=ttyS0 quiet loglevel=0 panic=-1 rdinit=/init"],
            stdin=subprocess.DEVNULL, timeout=timeout, check=True)
        text = output.read_text(errors="replace").replace("\r", "")
    found = re.search(r"@@begin\n(.*?)@@end (\d+)", text, re.DOTALL)
    if not found:
        raise AssertionError(f"the machine ended without a result:\n{text[-2000:]}")
    return int(found[2]), found[1]
