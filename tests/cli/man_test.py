#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the manual pages against what the command prints with --help, and against mandoc's rules. Needs no root.

A page is for the commands that its NAME section has: stackmap-flame is `stackmap flame`. Its SYNOPSIS has a form for each, with
all its flags; a list entry (.It Fl ...) describes a flag for all commands of the page.

usage: man_test.py BUILD-FOLDER MAN-FOLDER
"""
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

class Option:
    """An option as --help prints it."""

    def __init__(self, text):
        head, _, self.rest = re.sub(r"\s+", " ", text).strip().partition(" ")
        flags = re.sub(r"\{.*?\}", "", head).split(",")
        self.long = next(flag for flag in flags if flag.startswith("--"))
        self.short = next((flag for flag in flags if not flag.startswith("--")), None)
        default = re.match(r"[A-Z]+(?::(?:[A-Z]+ in \[.*?\]|\S+?))?=(\S+)", self.rest)
        self.default = default and default[1]
        span = re.search(r" in \[([\d.]+) - ([\d.]+)\]", self.rest)
        self.range = span.groups() if span else ()


class Command:
    """What `stackmap WORDS --help` prints: its options and its commands."""

    def __init__(self, program, *words):
        self.words = words
        text = subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=True, timeout=60).stdout
        options = re.search(r"\nOptions:\n(.*?)(?:\n\n|\Z)", text, re.S)[1]
        self.options = [Option(entry) for entry in re.split(r"\n(?=  -)", options)]
        commands = re.search(r"\nSubcommands:\n(.*)", text, re.S)
        self.commands = re.findall(r"^  (\S+)", commands[1], re.M) if commands else []
        self.flags = {flag for option in self.options for flag in (option.long, option.short) if flag}


class Page:
    def __init__(self, path):
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.sections = dict(re.findall(r"^\.Sh (.*)\n((?:(?!\.Sh ).*\n)*)", self.text, re.M))
        self.names = re.findall(r"^\.Nm (\S+)", self.sections["NAME"], re.M)
        # Each list entry up to the next one, by its flags.
        self.entries = []
        for entry in re.split(r"^(?=\.(?:It|El|Sh|Ss)\b)", self.text, flags=re.M):
            if entry.startswith(".It Fl "):
                self.entries.append((flags_of(entry.partition("\n")[0]), entry))

    def synopsis(self, words):
        """The flags of the form of a command; None if there is none."""
        for form in re.split(r"^(?=\.Nm )", self.sections["SYNOPSIS"], flags=re.M):
            if re.match(rf"\.Nm stackmap Cm {' '.join(words)}\n", form):
                return flags_of(form)
        return None


def flags_of(text):
    """Flags in macros (Fl -force, Fl e) and in running text (--force)."""
    macros = {"-" + flag for flag in re.findall(r"\bFl (-?[A-Za-z][a-z-]*)", text)}
    return macros | set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


class ManTest(unittest.TestCase):
    program = folder = pathlib.Path()

    @classmethod
    def setUpClass(cls):
        cls.pages = [Page(path) for path in sorted(cls.folder.glob("*.[1-9]"))]
        cls.top = Command(cls.program)
        cls.commands = {}
        for name in cls.top.commands:
            command = Command(cls.program, name)
            # `import` is a name for what it imports from.
            cls.commands[name] = [Command(cls.program, name, word) for word in command.commands] or [command]

    def page_of(self, name):
        pages = [page for page in self.pages if f"stackmap-{name}" in page.names]
        self.assertEqual(len(pages), 1, f"pages for {name}")
        return pages[0]

    def each(self):
        return [(self.page_of(name), command) for name, forms in self.commands.items() for command in forms]

    def test_every_command_has_a_page_and_an_entry_in_the_overview(self):
        overview = self.folder / "stackmap.1"
        entries = re.findall(r"^\.It Cm (\S+)$", overview.read_text(encoding="utf-8"), re.M)
        self.assertEqual(sorted(entries), sorted(self.commands))
        self.assertGreaterEqual(len(entries), 9)
        for page, command in self.each():
            self.assertIsNotNone(page.synopsis(command.words), f"{page.path.name}: {command.words}")

    def test_a_page_is_for_commands_that_exist(self):
        for page in self.pages:
            if page.path.suffix == ".1":
                commands = {name.removeprefix("stackmap-") for name in page.names} - {"stackmap"}
                self.assertEqual(commands - set(self.commands), set(), page.path.name)

    def test_a_synopsis_has_the_flags_of_the_command_and_no_others(self):
        for page, command in self.each():
            want = {option.short or option.long for option in command.options} - {"-h"}
            self.assertEqual(page.synopsis(command.words), want, command.words)

    def test_every_flag_is_described_by_its_short_and_long_name(self):
        for page, command in [(Page(self.folder / "stackmap.1"), self.top), *self.each()]:
            described = [flags for flags, _ in page.entries]
            for option in command.options:
                if option.long != "--help" or command is self.top:
                    self.assertIn({flag for flag in (option.short, option.long) if flag}, described, command.words)

    def test_defaults_and_ranges_are_those_of_the_command(self):
        checked = 0
        for page, command in self.each():
            for option in command.options:
                values = [value for value in (option.default, *option.range) if value]
                entries = [entry for flags, entry in page.entries if option.long in flags]
                for value in values:
                    self.assertTrue(any(re.search(rf"(?<![\w.]){re.escape(value)}(?![\w]|\.\d)", entry) for entry in entries),
                                    f"{command.words} {option.long}: {value}")
                    checked += 1
        self.assertGreater(checked, 10)

    def test_every_flag_that_a_page_names_exists(self):
        for page in self.pages:
            named = {name.removeprefix("stackmap-") for name in page.names}
            own = {flag for name in named & set(self.commands) for command in self.commands[name] for flag in command.flags}
            every = self.top.flags.union(*(command.flags for forms in self.commands.values() for command in forms))
            for flags, _ in page.entries:
                self.assertEqual(flags - (own | self.top.flags if "stackmap" in named else own), set(), page.path.name)
            self.assertEqual(flags_of(page.text) - every, set(), page.path.name)

    def test_pages_are_free_of_warnings(self):
        if shutil.which("mandoc") is None:
            self.fail("mandoc is not installed: scripts/setup --test installs it (apt-get install mandoc)")
        self.assertGreaterEqual(len(self.pages), 6)
        for page in self.pages:
            with self.subTest(page=page.path.name):
                # What is said on stderr is of mandoc's own index.
                done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", page.path.name], cwd=self.folder,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
                self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

    def test_references_between_pages_exist(self):
        names = {f"{page.path.name.rsplit('.', 1)[0]} {page.path.suffix[1:]}" for page in self.pages}
        for page in self.pages:
            for reference in re.findall(r"^\.Xr (stackmap\S* \d)", page.text, re.M):
                self.assertIn(reference, names, page.path.name)
            for section in re.findall(r"^\.Sx (.*?)(?: [.,;:)])*$", page.text, re.M):
                self.assertRegex(page.text, rf"(?m)^\.S[hs] {section}$")

    def test_every_page_is_installed_by_all_its_names(self):
        listed = (self.folder / "CMakeLists.txt").read_text(encoding="utf-8")
        for page in self.pages:
            for name in page.names:
                self.assertRegex(listed, rf"(?<![\w-]){re.escape(name)}\{page.path.suffix}(?![\w.])")


def main():
    ManTest.program = pathlib.Path(sys.argv[1]).resolve() / "stackmap"
    ManTest.folder = pathlib.Path(sys.argv[2]).resolve()
    result = unittest.TextTestRunner(verbosity=2).run(unittest.defaultTestLoader.loadTestsFromTestCase(ManTest))
    return 0 if result.wasSuccessful() and result.testsRun else 1


if __name__ == "__main__":
    sys.exit(main())
