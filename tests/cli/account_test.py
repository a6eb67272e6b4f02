#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One account of what was lost: report, inspect, stat and the example say of a capture, which a recorder made and in which all that
can be counted happened, what a reader says that was written from FORMAT.md alone. Needs no root.

usage: account_test.py BUILD-FOLDER GOLDEN-FOLDER
"""
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from support import read_smc  # noqa: E402
from support.tools import Case, run_golden_tests  # noqa: E402

# The columns of the table behind the first, FORMAT.md's names.
COLUMNS = ["hits", "filtered", "sent", "ring_full", "scratch_busy", "recursion_misses", "output_error", "throttled"]
REASONS = {"ring_full": "ring full", "scratch_busy": "scratch busy", "recursion_misses": "missed (recursion)",
           "output_error": "output error", "throttled": "throttled (--max-cpu)", "reject": "not decoded"}
# What has a line of its own, and not a row of the table.
IN_WORDS = ("reject.", "stack.", "fallback.", "string.", "ring.lost.", "write.", "limit.")


def number(text):
    return int(text.replace(",", ""))


class AccountTest(Case):
    def setUp(self):
        super().setUp()
        self.path = self.dir / "lossy.smc"
        subprocess.run([self.build / "lossy_capture", self.path], check=True, timeout=60)
        self.capture = read_smc.Capture(self.path)
        self.ledger = self.capture.ledger
        self.account = self.capture.account()

    def by_reason(self):
        """Why, as people are told, and how many."""
        sums = {}
        for name, value in self.ledger.items():
            if read_smc.meaning_of(name) == "lost" and value:
                words = REASONS["reject" if name.startswith("reject.") else name.rpartition(".")[2]]
                sums[words] = sums.get(words, 0) + value
        return sums

    def test_the_capture_is_one_where_everything_happened(self):
        self.assertEqual(len(self.by_reason()), len(REASONS))
        self.assertEqual(self.account["recorded"], len(list(self.capture.events())))
        self.assertEqual(self.account["hit"], self.account["filtered"] + self.account["recorded"] + self.account["task"] +
                         self.account["lost"])

    def check_text(self, text):
        lost, wanted, why = re.search(r"^lost ([\d,]+) of ([\d,]+) events: (.*)$", text, re.M).groups()
        self.assertEqual(number(lost), self.account["lost"])
        self.assertEqual(number(wanted), self.account["lost"] + self.account["recorded"])
        self.assertEqual({words: number(n) for n, words in re.findall(r"([\d,]+) ([^\d,][^,]*)", why)}, self.by_reason())
        for event, values in re.findall(r"^(\w+:\w+)((?: +[\d,]+){8})$", text, re.M):
            self.assertEqual([number(value) for value in values.split()],
                             [self.ledger.get(f"event.{event}.{column}", 0) for column in COLUMNS])
        said = sorted(number(n) for n in re.findall(r"^ +([\d,]+)  \w.*$", text[text.index("\nsum "):], re.M))
        self.assertEqual(said, sorted(value for name, value in self.ledger.items() if name.startswith(IN_WORDS) and value))
        self.assertNotIn("other counters", text)

    def test_report(self):
        text = self.run_stackmap("report", self.path).stdout
        self.check_text(text[text.index("lost "):])

    def test_inspect(self):
        text = self.run_stackmap("inspect", self.path).stdout
        self.check_text(text[text.index("\nlost "):])

    def test_stat_has_every_counter(self):
        said = dict(line.split(": ") for line in self.run_stackmap("stat", self.path).stdout.splitlines())
        self.assertEqual(list(said)[:5], ["generation", "entries", "capacity", "successes", "fallbacks"])
        expected = {"hits": self.account["hit"], "filtered": self.account["filtered"],
                    "recorded": self.account["recorded"], "lost": self.account["lost"]}
        for name, value in self.ledger.items():
            key = re.sub(r"^event\..*\.", "event.", name).removeprefix("map.").replace(".", "_")
            expected[key] = expected.get(key, 0) + value
        self.assertEqual({key: int(value) for key, value in said.items()}, expected)

    def test_the_example(self):
        text = subprocess.run([self.build / "read_capture", self.path], check=True, capture_output=True, text=True,
                              timeout=60).stdout
        self.assertIn(f"\nlost {self.account['lost']}\n", text)
        self.assertEqual({words: int(n) for words, n in re.findall(r"^lost, (.*) (\d+)$", text, re.M)}, self.by_reason())


if __name__ == "__main__":
    sys.exit(run_golden_tests(sys.modules["__main__"]))
