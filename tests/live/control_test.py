#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Controls running recordings. SelftestTest holds every promise that the selftest of the ftrace stack map series checks; in place of
tracefs files it uses `stackmap ctl` and `script`. Its steps wait for events, never for a time, and what it compares is recorded
while the worker stands still. Needs root.

usage: control_test.py BUILD-FOLDER [TEST...]
"""
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from support.tools import Case, Control, DEADLINE, Recording, Workload, read_all, run_tests, wait_for  # noqa: E402

ALLOC = "kmem:kmem_cache_alloc"


class ControlCase(Case):
    def control(self, *arguments):
        path = self.dir / "control.sock"
        recording = Recording(self, f"--control={path}", *arguments)
        return Control(self, recording, path)


class SelftestTest(ControlCase):
    def worker(self):
        """A process that sleeps and wakes without end: each is a switch."""
        script = "import select\nwhile True: select.select([], [], [], 0.001)"
        return self.start([sys.executable, "-c", script])

    def stop(self, worker):
        worker.send_signal(signal.SIGSTOP)
        stat = pathlib.Path(f"/proc/{worker.pid}/stat")
        wait_for(self, lambda: stat.read_text(encoding="ascii").rpartition(")")[2].split()[0] == "T")

    def test_selftest(self):
        worker = self.worker()
        ctl = self.control("-e", "sched:sched_switch", "-t", str(worker.pid))

        # A reset under an active writer succeeds, five times; with the writer stopped it leaves the map empty.
        for _ in range(5):
            wait_for(self, lambda: sum(ctl.map().values()) >= 8)
            ctl.run("reset")
            self.stop(worker)
            ctl.run("reset")
            self.assertEqual(ctl.map(), {})
            self.assertEqual(ctl.stat()["entries"], "0")
            worker.send_signal(signal.SIGCONT)

        # Deduplication: a stack that recurs is stored once, and its ref says how often.
        wait_for(self, lambda: max(ctl.map().values(), default=0) >= 2)
        self.stop(worker)
        records = ctl.map()
        stat = ctl.stat()
        self.assertEqual(list(stat)[:5], ["generation", "entries", "capacity", "successes", "fallbacks"])
        self.assertEqual(int(stat["entries"]), len(records))
        self.assertEqual(int(stat["successes"]), sum(records.values()))
        generation = int(stat["generation"])
        self.assertEqual({g for _, g in records}, {generation})
        self.assertEqual(generation, 1 + 5 * 2)

        # Every cookie of this generation that was recorded has a record.
        ctl.run("snapshot")
        before = self.cookies(ctl)
        self.assertTrue(any(g == generation for _, g in before))
        for cookie in before:
            if cookie[1] == generation:
                self.assertIn(cookie, records)

        # A reset empties the map and leaves what was recorded alone.
        ctl.run("reset")
        self.assertEqual(ctl.map(), {})
        self.assertEqual(self.cookies(ctl), before)
        generation += 1

        # free is refused while the map is on; off keeps the map.
        self.assertIn("Device or resource busy", ctl.run("free", code=1).stderr)
        worker.send_signal(signal.SIGCONT)
        wait_for(self, lambda: len(ctl.map()) > 0)
        ctl.run("off")
        self.assertEqual({g for _, g in ctl.map()}, {generation})

        # free waits for a reader that opened the map before, which still reads it; a new reader sees none meanwhile.
        reader = ctl.connect(b"map\n")
        self.assertTrue(reader.recv(3) == b"ok\n")
        freeing = self.start([self.build / "stackmap", "ctl", ctl.name, "free"])
        wait_for(self, lambda: ctl.run("map").stdout == "")
        self.assertIsNone(freeing.poll(), "free did not wait for the open reader")
        self.assertRegex(read_all(reader), f"^stack_id \\d+ gen {generation} ")
        self.assertIsNone(freeing.poll(), "free did not wait for the reader to close")
        reader.close()
        self.assertEqual(freeing.wait(DEADLINE), 0)
        self.assertEqual(ctl.map(), {})
        self.assertEqual(ctl.run("stat").stdout, "")

        # The next map continues the generation.
        ctl.run("on")
        wait_for(self, lambda: len(ctl.map()) > 0)
        self.assertEqual({g for _, g in ctl.map()}, {generation + 1})

        # Events of all generations, and of the time without a map, resolve in the end.
        ctl.run("stop")
        self.assertEqual(ctl.recording.process.wait(DEADLINE), 0)
        self.run_stackmap("inspect", "--verify", ctl.recording.base)
        self.assertNotIn("<stack_id", self.run_stackmap("script", "--resolve", ctl.recording.base).stdout)

    def cookies(self, ctl):
        text = self.run_stackmap("script", ctl.recording.base).stdout
        return {tuple(map(int, pair)) for pair in re.findall(r"<stack_id (\d+) gen (\d+)>", text)}

    def test_the_selftests_own_awk_and_grep(self):
        workload = Workload(self, "open-close", 5)
        ctl = self.control("-e", ALLOC, "-p", str(workload.pid))
        workload.work()
        (self.dir / "stack_map").write_text(ctl.run("map").stdout)
        (self.dir / "stack_map_stat").write_text(ctl.run("stat").stdout)
        ctl.run("snapshot")
        (self.dir / "trace").write_text(self.run_stackmap("script", ctl.recording.base).stdout)

        def shell(command):
            return subprocess.run(["sh", "-c", command], cwd=self.dir, capture_output=True, text=True, check=True).stdout.strip()
        records = int(shell("awk '/^stack_id / { n++ } END { print n + 0 }' stack_map"))
        hits = int(shell("awk '/^stack_id / { s += $6 } END { print s + 0 }' stack_map"))
        max_ref = int(shell("awk '/^stack_id / { if ($6 > m) m = $6 } END { print m + 0 }' stack_map"))
        first_gen = int(shell("awk '/^stack_id / { print $4; exit }' stack_map"))

        def stat_val(key):
            return int(shell(f"awk -v k='{key}:' '$1 == k {{ print $2 }}' stack_map_stat"))
        self.assertEqual(records, stat_val("entries"))
        self.assertEqual(hits, stat_val("successes"))
        self.assertEqual(first_gen, stat_val("generation"))
        self.assertGreaterEqual(max_ref, 2500)
        self.assertGreaterEqual(hits, 10000)
        pairs = shell(r"sed -n 's/.*<stack_id \([0-9][0-9]*\) gen \([0-9][0-9]*\)>.*/\1:\2/p' trace | sort -u").split()
        self.assertGreaterEqual(len(pairs), 4)
        for pair in pairs:
            slot, generation = pair.split(":")
            self.assertNotEqual(shell(f"grep '^stack_id {slot} gen {generation} ' stack_map"), "")


class UnderLoadTest(ControlCase):
    def test_resets_readers_and_toggles_while_events_pour_in(self):
        for readers in ("1", "2"):
            with self.subTest(readers=readers):
                self.check_under_load("--threads", readers, "--force")

    def check_under_load(self, *options):
        workload = Workload(self, "open-close", 300)
        ctl = self.control("-e", "kmem", "-p", str(workload.pid), *options)
        done = threading.Event()
        counts = {"reset": 0, "map": 0, "off": 0}

        def repeat(*commands):
            while not done.is_set():
                for command in commands:
                    client = socket.socket(socket.AF_UNIX)
                    client.settimeout(DEADLINE)
                    client.connect(str(ctl.name))
                    client.sendall(command.encode() + b"\n")
                    answer = read_all(client)
                    client.close()
                    assert answer.startswith("ok\n"), answer
                    if command in counts:
                        counts[command] += 1
        threads = [threading.Thread(target=repeat, args=commands) for commands in
                   (("reset",), ("map",), ("map", "stat"), ("off", "on"))]
        for thread in threads:
            thread.start()
        workload.work()
        done.set()
        for thread in threads:
            thread.join(DEADLINE)
        recording = ctl.recording.stop()
        for command, count in counts.items():
            self.assertGreater(count, 10, command)
        events = recording.events()  # which verifies: every cookie resolves, in its generation, and refs equal events
        rows = recording.ledger()
        for event, count in events.items():
            self.assertEqual(count, rows[event]["sent"], event)
        self.assertGreaterEqual(events[ALLOC] + rows[ALLOC]["ring full"], 600000)


class BadClientsTest(ControlCase):
    def test_bad_commands_and_clients_harm_nobody(self):
        workload = Workload(self, "open-close", 2)
        ctl = self.control("-e", ALLOC, "-p", str(workload.pid))
        self.assertIn("error no such command", read_all(ctl.connect(b"explode\n")))
        self.assertIn("error a command has at most 256 bytes", read_all(ctl.connect(b"x" * 1000)))
        self.assertIn("\\x01", read_all(ctl.connect(b"\x01\n")))
        half = ctl.connect(b"res")
        half.close()
        silent = [ctl.connect(b"") for _ in range(10)]
        died = self.start([self.build / "stackmap", "ctl", ctl.name, "map"], stdout=subprocess.DEVNULL)
        died.kill()
        megabyte = ctl.connect(b"")
        try:
            megabyte.sendall(b"y" * (1 << 20))
        except (BrokenPipeError, ConnectionResetError):
            pass  # it was cut off
        # Twice in a row, and free without a map.
        ctl.run("reset")
        ctl.run("reset")
        ctl.run("off")
        ctl.run("free")
        ctl.run("free")
        ctl.run("reset")
        ctl.run("on")
        workload.work()
        self.assertGreaterEqual(int(ctl.stat()["successes"]), 4000)
        for client in silent:
            client.close()
        ctl.recording.stop()
        self.assertGreaterEqual(ctl.recording.events()[ALLOC], 4000)

    def test_too_many_clients_are_refused_and_the_rest_served(self):
        ctl = self.control("-e", ALLOC)
        clients = [ctl.connect(b"") for _ in range(16)]
        ctl.run("stat", code=1)
        for client in clients:
            client.close()
        wait_for(self, lambda: subprocess.run([self.build / "stackmap", "ctl", ctl.name, "stat"], capture_output=True,
                                              check=False).returncode == 0)
        ctl.recording.stop()

    def test_a_free_that_waits_can_be_interrupted(self):
        ctl = self.control("-e", ALLOC)
        reader = ctl.connect(b"map\n")
        self.assertEqual(reader.recv(3), b"ok\n")
        ctl.run("off")
        freeing = self.start([self.build / "stackmap", "ctl", ctl.name, "free"])
        wait_for(self, lambda: ctl.run("stat").stdout == "")
        self.assertIsNone(freeing.poll())
        freeing.send_signal(signal.SIGINT)
        self.assertEqual(freeing.wait(DEADLINE), -signal.SIGINT)
        ctl.run("on")
        self.assertEqual(ctl.stat()["generation"], "2")
        reader.close()
        ctl.recording.stop()


class SocketTest(ControlCase):
    def refuse(self, words, *arguments, code=1):
        done = self.run_stackmap("record", "-e", ALLOC, *arguments, code=code)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_the_socket_is_private_and_goes_with_the_recording(self):
        ctl = self.control("-e", ALLOC)
        self.assertEqual(os.stat(ctl.name).st_mode & 0o777, 0o600)
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", self.build / "stackmap", "ctl",
                               ctl.name, "stat"], capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        ctl.recording.stop()
        self.assertFalse(os.path.exists(ctl.name))
        self.assertIn("no recording listens", self.run_stackmap("ctl", ctl.name, "stat", code=1).stderr)

    def test_a_second_recording_of_the_name_is_refused_and_harms_nothing(self):
        ctl = self.control("-e", ALLOC)
        self.refuse(["already controlled", "another name"], "-o", self.dir / "second", f"--control={ctl.name}")
        self.assertFalse((self.dir / "second.smc").exists())
        ctl.run("stat")
        ctl.recording.stop()

    def test_a_stale_socket_is_replaced_what_is_none_is_refused(self):
        path = self.dir / "control.sock"
        stale = socket.socket(socket.AF_UNIX)
        stale.bind(str(path))
        stale.close()
        ctl = self.control("-e", ALLOC)
        ctl.run("stat")
        ctl.recording.stop()
        target = self.dir / "precious"
        target.write_text("precious")
        for place in ("link", "file"):
            other = self.dir / place
            if place == "link":
                other.symlink_to(target)
            else:
                other.write_text("precious")
            self.refuse(["is no socket"], "-o", self.dir / "x", f"--control={other}")
        self.assertEqual(target.read_text(), "precious")

    def test_names_and_paths(self):
        self.refuse(["longer than the 107 bytes"], "-o", self.dir / "x", f"--control=/{'x' * 200}", code=2)
        self.refuse(["is no name"], "-o", self.dir / "x", "--control=..", code=2)
        self.assertIn("no recording listens on /run/stackmap/no-such-recording.sock",
                      self.run_stackmap("ctl", "no-such-recording", "stat", code=1).stderr)
        self.assertIn("try --help", self.run_stackmap("ctl", "x", "explode", code=2).stderr)
        read_only = self.mount_tmpfs("ro", "ro")
        self.refuse(["Read-only file system", "name another place"], "-o", self.dir / "x", f"--control={read_only}/x.sock")

    def test_by_name_under_run(self):
        name = f"stackmap-test-{os.getpid()}"
        recording = Recording(self, "--control", "-e", ALLOC, name=name)
        self.assertIn("generation: 1", self.run_stackmap("ctl", name, "stat").stdout)
        self.run_stackmap("ctl", name, "stop")
        self.assertEqual(recording.process.wait(DEADLINE), 0)


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules["__main__"]))
