#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What cannot be done to the machine that one works on: its power is cut, and its CPUs go away and come back.

usage: vm_test.py BUILD-FOLDER [CLASS...]; STACKMAP_CUTS=N for more cuts than the default. scripts/vm-test builds and runs it.
"""
import os
import pathlib
import random
import re
import shutil
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from support.tools import Case, run_named_tests  # noqa: E402
from vm.machine import Machine, run  # noqa: E402

ALLOC = "kmem:kmem_cache_alloc"


class VmCase(Case):
    def boot(self, job):
        return Machine(self, job, [self.build / "stackmap", self.build / "workloads" / "open-close"])


class PowerCutTest(VmCase):
    """Full blast with rotation on ext4, and the power cut at random moments: whatever is on the disk is read."""

    JOB = """
mount -t ext4 /dev/vda /mnt || poweroff -f
stackmap record -o /mnt/w --rotate-size 1M --keep 8 2>/run/said &
open-close 100000000 &
until [ "$(stat -c %s /mnt/w-000001.smc)" -gt 200000 ]; do sleep 0.1; done
while read up idle < /proc/uptime; do echo "up $up"; sleep 0.05; done
"""

    def files_after(self, number):
        """What the next boot would find: the journal is replayed."""
        image = self.dir / "cut"
        folder = self.dir / f"cut{number}"
        folder.mkdir()
        # 1: there was something to mend, which a journal is for.
        done = os.spawnvp(os.P_WAIT, "sh", ["sh", "-c", f"e2fsck -fy '{image}' > '{self.dir}/fsck' 2>&1"])
        self.assertIn(done, (0, 1), (self.dir / "fsck").read_text(encoding="utf-8"))
        run("debugfs", "-R", f"rdump / {folder}", image)
        return folder

    def test_what_was_flushed_is_there_after_a_power_cut(self):
        cuts = int(os.environ.get("STACKMAP_CUTS", "5"))
        chance = random.Random(cuts)
        machine = self.boot(self.JOB)
        machine.wait_for(r"^up ")
        files = empty = events = 0
        behind = []
        for number in range(cuts):
            time.sleep(chance.uniform(0.5, 2))  # the moment of the cut is chance's
            with machine.stopped():
                cut = float(re.findall(r"^up ([\d.]+)$", machine.console(), re.MULTILINE)[-1])
                run("cp", "--sparse=always", machine.disk, self.dir / "cut")
            folder = self.files_after(number)
            captures = sorted(folder.glob("w-*.smc"))
            self.assertGreater(len(captures), 0)
            # The newest may have its name on the disk, and nothing else yet.
            if captures[-1].stat().st_size == 0:
                empty += 1
                captures.pop().unlink()
            files += len(captures)
            for capture in captures:
                self.run_stackmap("recover", "--force", "-o", self.dir / "saved", capture)
                said = self.run_stackmap("inspect", "--verify", self.dir / "saved").stderr
                self.assertIn("is sound", said)
                events += int(re.search(r"([\d,]+) events", said)[1].replace(",", ""))
            newest = re.findall(r" +([\d.]+): \w+: ", self.run_stackmap("script", folder / "w").stdout[-4000:])[-1]
            behind.append(cut - float(newest))
            # Left to itself the kernel would have kept it for 30 seconds.
            self.assertLess(behind[-1], 10)
            shutil.rmtree(folder)
        behind.sort()
        print(f"{cuts} cuts, {files} files, {empty} more that were empty, {events} events; the newest event was "
              f"{behind[len(behind) // 2]:.2f} s old in the median, {behind[-1]:.2f} s at most")


class HotplugTest(VmCase):
    """A CPU that goes away and comes back, as a phone's do, is recorded again."""

    JOB = r"""
cd /run
cpu=/sys/devices/system/cpu/cpu1/online
stackmap record -e kmem:kmem_cache_alloc -o w --flush 100ms 2>said &
recorder=$!
until grep -q recording said; do sleep 0.1; done
on_cpu1() { stackmap script w 2>/dev/null | grep -c '\[001\]'; }
for round in 1 2 3; do
  taskset 2 open-close 1
  echo 0 > $cpu
  taskset 1 open-close 1
  echo 1 > $cpu
  before=$(on_cpu1)
  # The first events find no ring. More than what a batch may have held from before shows that there is one.
  while [ $(on_cpu1) -lt $((before + 1500)) ]; do taskset 2 open-close 1; done
  echo "round $round"
done
kill -INT $recorder
wait $recorder
echo "exit $?"
cat said
stackmap inspect --verify w
poweroff -f
"""

    def test_a_cpu_that_comes_back_is_recorded_again(self):
        machine = self.boot(self.JOB)
        said = machine.end()
        self.assertEqual(re.findall(r"^round (\d)$", said, re.MULTILINE), ["1", "2", "3"], said)
        self.assertIn("\nexit 0\n", said)
        self.assertEqual(said.count("CPU 1 has come online"), 1, said)
        self.assertIn("is sound", said)
        # What was lost until the ring was there is counted, and all of it is accounted for.
        row = re.search(rf"^{ALLOC} +(.+)$", said[said.index("event   "):], re.MULTILINE)[1]
        hits, filtered, sent, full, busy, missed, other = (int(n.replace(",", "")) for n in row.split()[:7])
        self.assertGreater(other, 0)
        self.assertGreater(sent, 3 * 3000)
        self.assertEqual(hits, filtered + sent + full + busy + missed + other)


if __name__ == "__main__":
    sys.exit(run_named_tests(sys.modules["__main__"]))
