#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the capture library into a folder of its own, builds the example against what is there and nothing else, and holds
what it prints of the golden capture against a reader that shares no code with it (tests/support/read_smc.py).

usage: install_test.py BUILD-FOLDER SOURCE-FOLDER CMAKE COMPILER
"""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from support.read_smc import Capture  # noqa: E402

CMAKE_LISTS = """\
cmake_minimum_required(VERSION 3.25)
project(reader LANGUAGES CXX)
find_package(stackmap 0.1 REQUIRED)
add_executable(read_capture read_capture.cpp)
target_link_libraries(read_capture PRIVATE stackmap::capture)
"""


class InstallTest(unittest.TestCase):
    build = source = pathlib.Path()
    cmake = compiler = ""

    @classmethod
    def setUpClass(cls):
        cls.dir = pathlib.Path(tempfile.mkdtemp(prefix="stackmap_install."))
        cls.addClassCleanup(shutil.rmtree, cls.dir)
        # Moved after it was installed: nothing may remember where it was.
        cls.run_ok(cls, [cls.cmake, "--install", cls.build, "--prefix", cls.dir / "first", "--component", "capture"])
        cls.prefix = cls.dir / "prefix"
        (cls.dir / "first").rename(cls.prefix)
        cls.work = cls.dir / "work"
        cls.work.mkdir()
        shutil.copy(cls.source / "examples" / "read_capture.cpp", cls.work)
        shutil.copy(cls.source / "tests" / "golden" / "example.smc", cls.work)

    def run_ok(self, arguments, **environment):
        done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True, check=False, timeout=600,
                              env={**os.environ, **environment})
        assert done.returncode == 0, f"{arguments}:\n{done.stdout}{done.stderr}"
        return done.stdout

    def pkg_config(self, *arguments):
        folder, = self.prefix.rglob("pkgconfig")
        return self.run_ok(["pkg-config", *arguments, "stackmap_capture"], PKG_CONFIG_PATH=str(folder)).split()

    def check_output(self, text):
        """The totals are those of the other reader."""
        golden = Capture(self.work / "example.smc")
        self.assertEqual(dict(re.findall(r"^event (\S+) (\d+)$", text, re.M)),
                         {name: str(count) for name, count in golden.totals().items()})
        self.assertIn(f"\nstacks {len(golden.stacks)}\n", text)
        self.assertIn("\nwithout_cookie 0\n", text)
        # Whatever fired and was wanted is in the capture, or lost.
        account = golden.account()
        lost = account["hit"] - account["filtered"] - account["task"] - account["recorded"]
        self.assertGreater(lost, 0)
        self.assertIn(f"\nlost {lost}\n", text)
        slot, generation, events = map(int, re.search(r"^heaviest stack_id (\d+) gen (\d+) events (\d+)$", text, re.M).groups())
        counts = collections.Counter(event.cookie for event in golden.events())
        self.assertEqual(counts[generation, slot], events)
        self.assertEqual(max(counts.values()), events)
        self.assertEqual(re.findall(r"^ => (.*)$", text, re.M),
                         [golden.symbol_text(frame) for frame in golden.stacks[generation, slot]])

    def test_with_cmake(self):
        (self.work / "CMakeLists.txt").write_text(CMAKE_LISTS)
        self.run_ok([self.cmake, "-G", "Ninja", "-S", self.work, "-B", self.work / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                     f"-DCMAKE_CXX_COMPILER={self.compiler}"])
        self.run_ok([self.cmake, "--build", self.work / "build"])
        self.check_output(self.run_ok([self.work / "build" / "read_capture", self.work / "example.smc"]))

    def test_with_pkg_config(self):
        program = self.work / "by_pkg_config"
        self.run_ok([self.compiler, "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", self.work / "read_capture.cpp",
                     *self.pkg_config("--cflags", "--libs"), "-o", program])
        self.check_output(self.run_ok([program, self.work / "example.smc"]))

    def test_every_header_stands_alone(self):
        folder = self.prefix / "include" / "stackmap"
        headers = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.h"))
        self.assertIn("capture/capture.h", headers)
        for header in headers:
            with self.subTest(header=header):
                self.run_ok([self.compiler, "-std=c++20", "-fsyntax-only", "-include", header, *self.pkg_config("--cflags"),
                             "-x", "c++", "/dev/null"])

    def test_nothing_installed_names_the_tree_it_came_from(self):
        for path in self.prefix.rglob("*"):
            if path.suffix in (".h", ".cmake", ".pc"):
                for place in (self.source, self.build, self.dir / "first"):
                    self.assertNotIn(str(place), path.read_text(), path)


def main():
    InstallTest.build, InstallTest.source = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    InstallTest.cmake, InstallTest.compiler = sys.argv[3:5]
    result = unittest.TextTestRunner(verbosity=2).run(unittest.defaultTestLoader.loadTestsFromTestCase(InstallTest))
    return 0 if result.wasSuccessful() and result.testsRun else 1


if __name__ == "__main__":
    sys.exit(main())
