# SPDX-License-Identifier: Apache-2.0
"""A virtual machine under plain emulation: Debian's kernel, busybox, the programs under test, and a job for its shell."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

BOOT_DEADLINE = 300  # seconds; emulation is slow, and so is a verifier on it

PREPARE = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tracefs nodev /sys/kernel/tracing
mount -t tmpfs run /run
for module in virtio_pci virtio_blk crc32c_generic ext4; do modprobe $module; done
echo  # what the firmware has left of a line
"""


def run(*arguments, **options):
    return subprocess.run([str(a) for a in arguments], check=True, capture_output=True, text=True, **options).stdout


def debian_kernel(cache):
    """The folder of Debian's current kernel package, unpacked; it is not installed."""
    depends = run("apt-cache", "depends", "linux-image-amd64")
    package = re.search(r"Depends: (linux-image-[\w.-]+)", depends)[1]
    folder = cache / package
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as place:
            os.chmod(place, 0o777)  # apt fetches as a user of its own
            run("apt-get", "download", package, cwd=place)
            run("dpkg-deb", "-x", next(pathlib.Path(place).glob("*.deb")), f"{place}/x")
            (pathlib.Path(place) / "x").rename(folder)
    return folder


class Machine:
    """Boots with two CPUs and a disk of ext4 as /dev/vda, and runs `job` as its only process."""

    def __init__(self, case, job, programs, disk_mib=96):
        self.case = case
        self.console_path = case.dir / "console"
        self.disk = case.dir / "disk"
        kernel = debian_kernel(case.build / "vm")
        root = case.dir / "root"
        for name in ("bin", "proc", "sys", "dev", "run", "tmp", "mnt", "lib64"):
            (root / name).mkdir(parents=True)
        shutil.copy("/bin/busybox", root / "bin")
        for program in programs:
            shutil.copy(program, root / "bin")
            for library in re.findall(r"(/\S+) \(0x", run("ldd", program)):
                (root / library[1:]).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(library, root / library[1:])
        modules = next((kernel / "lib/modules").iterdir())
        for part in ("kernel/drivers/virtio", "kernel/drivers/block", "kernel/fs/ext4", "kernel/fs/jbd2", "kernel/fs/mbcache.ko",
                     "kernel/lib", "kernel/crypto"):
            to = root / "lib/modules" / modules.name / part
            to.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if (modules / part).is_dir() else shutil.copy)(modules / part, to)
        run("busybox", "depmod", "-b", root, modules.name)
        init = root / "init"
        init.write_text(PREPARE + job)
        init.chmod(0o755)
        image = case.dir / "initrd"
        names = "\n".join(str(p.relative_to(root)) for p in sorted(root.rglob("*")))
        with open(image, "wb") as to:
            subprocess.run(["busybox", "cpio", "-o", "-H", "newc"], input=names.encode(), stdout=to, stderr=subprocess.DEVNULL,
                           cwd=root, check=True)
        shutil.rmtree(root)
        with open(self.disk, "wb") as to:
            to.truncate(disk_mib << 20)
        run("mkfs.ext4", "-q", self.disk)
        with open(self.console_path, "wb") as console:
            self.process = case.start(
                ["qemu-system-x86_64", "-m", "1G", "-smp", "2", "-accel", "tcg,thread=multi", "-cpu", "max", "-kernel",
                 next((kernel / "boot").glob("vmlinuz-*")), "-initrd", image, "-append", "console=ttyS0 panic=-1 quiet",
                 "-nographic", "-no-reboot", "-drive", f"file={self.disk},format=raw,if=virtio,cache=writeback"],
                stdin=subprocess.DEVNULL, stdout=console, stderr=console)

    def console(self):
        return self.console_path.read_text(encoding="utf-8", errors="replace").replace("\r", "\n")

    def wait_for(self, pattern, count=1):
        """Until the console has shown it so many times; the last match."""
        end = time.monotonic() + BOOT_DEADLINE
        while len(found := list(re.finditer(pattern, self.console(), re.MULTILINE))) < count:
            self.case.assertLess(time.monotonic(), end, self.console()[-3000:])
            self.case.assertIsNone(self.process.poll(), self.console()[-3000:])
            time.sleep(0.1)  # a serial console cannot be waited on any better
        return found[-1]

    def end(self):
        """Waits until it has switched itself off; what it has said."""
        self.process.wait(BOOT_DEADLINE)
        return self.console()

    @contextlib.contextmanager
    def stopped(self):
        """No instruction of it runs, and its disk is as a power cut would leave it."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            stat = pathlib.Path(f"/proc/{self.process.pid}/stat")
            while stat.read_text(encoding="ascii").rpartition(")")[2].split()[0] != "T":
                os.sched_yield()
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)
