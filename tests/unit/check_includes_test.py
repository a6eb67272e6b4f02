#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds scripts/check_includes.py to what it promises: a tree with one fault of a kind is told of, at its place, and the same
tree without it is not.

usage: check_includes_test.py
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_includes.py"

# A small tree in order: every kind of thing that may be wrong is there once, and right.
SOUND = {
    "src/base/CMakeLists.txt": "stackmap_library(base\n  SOURCES text.cpp\n  LINK fmt::fmt)\n",
    "src/base/text.h": "#include <string>\n",
    "src/base/text.cpp": '#include "base/text.h"\n',
    "src/record/CMakeLists.txt": "# LINK sm_capture would be wrong.\nstackmap_library(record\n  SOURCES decode.cpp\n  LINK sm_base)\n",
    "src/record/decode.cpp": '#include "capture/event.h"\n#include "bpf/stackmap_record.h"\n',
    "src/capture/CMakeLists.txt": "stackmap_library(capture\n  SOURCES file.cpp\n  LINK sm_process PkgConfig::ZSTD)\n",
    "src/capture/file.cpp": '#include <zstd.h>\n#include "process/host.h"\n',
    "tools/main.cpp": '#include <CLI/CLI.hpp>\n#include "collector/collector.h"\n',
    "tests/unit/CMakeLists.txt": "stackmap_room_tests(base text_test.cpp)\n",
    "tests/unit/base/text_test.cpp": '#include "base/text.h"\n',
}


class CheckIncludesTest(unittest.TestCase):
    def check(self, changes):
        """The exit code and the faults of the sound tree with other texts at some of its paths."""
        with tempfile.TemporaryDirectory(prefix="stackmap_includes.") as root:
            for name, text in {**SOUND, **changes}.items():
                path = pathlib.Path(root) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            done = subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout.splitlines()[:-1]

    def assert_told(self, changes, fault):
        self.assertEqual(self.check(changes), (1, [fault]))

    def test_a_sound_tree_has_no_faults(self):
        self.assertEqual(self.check({}), (0, []))

    def test_an_include_against_the_flow(self):
        self.assert_told({"src/base/text.h": '#include <string>\n#include "capture/file.h"\n'},
                         "src/base/text.h:2: base/ must not include capture/file.h")

    def test_a_header_of_a_room_that_may_be_included_in_part(self):
        self.assert_told({"src/record/decode.cpp": '#include "capture/ledger.h"\n'},
                         "src/record/decode.cpp:1: record/ must not include capture/ledger.h")

    def test_a_library_that_belongs_to_another_room(self):
        self.assert_told({"src/base/text.h": "#include <zstd.h>\n"}, "src/base/text.h:1: <zstd.h> belongs to capture/")
        self.assert_told({"src/capture/file.cpp": "#include <CLI/CLI.hpp>\n"},
                         "src/capture/file.cpp:1: <CLI/CLI.hpp> belongs to tools/")

    def test_a_link_against_the_flow(self):
        self.assert_told({"src/base/CMakeLists.txt": "stackmap_library(base\n  SOURCES text.cpp\n  LINK sm_capture)\n"},
                         "src/base/CMakeLists.txt:1: sm_base must not link sm_capture")

    def test_a_link_to_a_room_of_which_only_types_may_be_had(self):
        self.assert_told({"src/record/CMakeLists.txt": "\nstackmap_library(record SOURCES decode.cpp LINK sm_base sm_capture)\n"},
                         "src/record/CMakeLists.txt:2: sm_record must not link sm_capture")

    def test_a_link_that_is_added_later(self):
        text = SOUND["src/capture/CMakeLists.txt"] + "target_link_libraries(sm_capture PRIVATE sm_render)\n"
        self.assert_told({"src/capture/CMakeLists.txt": text},
                         "src/capture/CMakeLists.txt:4: sm_capture must not link sm_render")

    def test_a_link_to_a_library_that_belongs_to_another_room(self):
        self.assert_told({"src/base/CMakeLists.txt": "stackmap_library(base SOURCES text.cpp LINK PkgConfig::ZSTD)\n"},
                         "src/base/CMakeLists.txt:1: PkgConfig::ZSTD belongs to capture/")

    def test_a_room_that_is_not_in_the_table(self):
        self.assert_told({"src/attic/CMakeLists.txt": "stackmap_library(attic SOURCES old.cpp)\n", "src/attic/old.cpp": ""},
                         "src/attic: not in the table of who may include whom")

    def test_a_source_that_nothing_builds(self):
        self.assert_told({"src/base/forgotten.cpp": ""}, "src/base/forgotten.cpp: in no CMakeLists.txt, so it is dead")

    def test_a_test_that_never_runs(self):
        self.assert_told({"tests/unit/base/lost_test.cpp": ""},
                         "tests/unit/base/lost_test.cpp: in no CMakeLists.txt, so it never runs")

    def test_an_empty_tree_is_no_tree(self):
        with tempfile.TemporaryDirectory(prefix="stackmap_includes.") as root:
            (pathlib.Path(root) / "src").mkdir()
            done = subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 1)


if __name__ == "__main__":
    unittest.main()
