# SPDX-License-Identifier: Apache-2.0
"""Holds the loss ledger against perf's counts, under stressors."""
import os
import pathlib
import signal

from support.tools import Case, PerfStat, Recording, wait_for

ALLOC = "kmem:kmem_cache_alloc"
KMEM = [ALLOC, "kmem:kmalloc", "kmem:kfree", "kmem:kmem_cache_free", "kmem:mm_page_alloc", "kmem:mm_page_free"]


def group_states(group):
    """The processes of a process group: pid -> state."""
    states = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # it ended meanwhile
        if int(fields[2]) == group:
            states[int(path.parent.name)] = fields[0]
    return states


def group_cpu_ticks(group):
    ticks = 0
    for pid in group_states(group):
        try:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        except OSError:
            pass
    return ticks


def stop_group(case, group):
    os.killpg(group, signal.SIGSTOP)
    wait_for(case, lambda: set(group_states(group).values()) == {"T"})


class LedgerCase(Case):
    def check_sums(self, recording):
        rows = recording.ledger()
        events = recording.events()
        for event, row in rows.items():
            if event not in ("sum",):
                self.assertEqual(row["hits"], row["filtered"] + row["sent"] + row["ring full"] + row["busy"] +
                                 row["missed"] + row["other"] + row.get("throttled", 0), event)
        for event in KMEM:
            self.assertEqual(events.get(event, 0), rows[event]["sent"], event)
        return rows

    def stress(self, *options, ticks=150, meanwhile=lambda: None):
        """Stressors that are stopped whenever a counter is switched: what they do in between, both counters see. Calls `meanwhile`
        over and over while they work."""
        stressor = self.start(["stress-ng", "--udp", "2", "--sock", "2", "--timer", "1", "-t", "60", "-q"],
                              start_new_session=True)
        self.addCleanup(os.killpg, stressor.pid, signal.SIGKILL)
        # A server and a client each for udp and sock, one for timer, and the parent.
        wait_for(self, lambda: len(group_states(stressor.pid)) >= 10)
        stop_group(self, stressor.pid)
        pids = ",".join(map(str, group_states(stressor.pid)))
        recording = Recording(self, *options, "-e", "kmem", "-p", pids)
        perf = PerfStat(self, KMEM, pids)
        perf.tell("enable")
        os.killpg(stressor.pid, signal.SIGCONT)
        # Work is measured in the stressors' own CPU time, so that a loaded machine only makes it last longer.
        begin = group_cpu_ticks(stressor.pid)
        wait_for(self, lambda: meanwhile() or group_cpu_ticks(stressor.pid) - begin >= ticks)
        stop_group(self, stressor.pid)
        perf.tell("disable")
        recording.stop()
        counted = perf.counts()
        rows = self.check_sums(recording)
        for event in KMEM:
            # Where a program may not run because another one is running on its CPU, the kernel does not let perf count either.
            seen = rows[event]["hits"] - rows[event]["filtered"] - rows[event]["missed"]
            self.assertEqual(seen, counted[event], event)
        return rows
