#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks who includes whom, and what CMake links: the order of the folders below src/ is the data flow, and nothing points
backwards.

Also checks that every source is built: a test that is not in CMake never runs, and what no library has is dead.
usage: check_includes.py [ROOT]
"""
import pathlib
import re
import sys

# A folder may include itself, and these. What it may include as a whole it may link too; of what it may include a header of, it
# has the types alone.
ALLOWED = {
    "base": set(),
    "process": {"base"},
    "symbolize": {"base", "process"},
    "stackmap": {"base"},
    "capture": {"base", "process", "stackmap/cookie.h"},
    "record": {"base", "bpf", "stackmap/cookie.h", "capture/event.h"},
    "recorder": {"base", "process", "symbolize", "stackmap", "record", "capture"},
    "store": {"base", "process", "capture"},
    "import": {"base", "process", "capture", "stackmap/cookie.h"},
    "session": {"base", "process", "stackmap", "record", "recorder", "capture", "store"},
    "profile": {"base", "process", "symbolize", "capture", "stackmap/cookie.h"},
    "render": {"base", "process", "capture", "profile", "stackmap/cookie.h"},
    "collector": {"base", "process", "record"},
}
# Libraries that only one folder may see.
OWNERS = {
    "bpf/bpf.h": "collector", "bpf/libbpf.h": "collector", "stackmap.skel.h": "collector", "symbol.skel.h": "collector",
    "CLI/CLI.hpp": "tools", "zstd.h": "capture",
}
# The same, of what CMake links.
LINK_OWNERS = {"PkgConfig::LIBBPF": "collector", "bpf_stackmap": "collector", "bpf_symbol": "collector",
               "CLI11::CLI11": "tools", "PkgConfig::ZSTD": "capture"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
COMMAND = re.compile(r"(\w+)\s*\(([^()]*)\)")


def includes(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1), match.group(2)


def check_file(root, path):
    folder = path.relative_to(root).parts[1] if path.is_relative_to(root / "src") else path.relative_to(root).parts[0]
    faults = []
    for number, quote, name in includes(path):
        where = f"{path.relative_to(root)}:{number}"
        owner = OWNERS.get(name)
        if owner and owner != folder and not (root / "tests") in path.parents:
            faults.append(f"{where}: <{name}> belongs to {owner}/")
        if folder not in ALLOWED or quote == "<":
            continue
        first = name.split("/")[0]
        if first != folder and first not in ALLOWED[folder] and name not in ALLOWED[folder]:
            faults.append(f"{where}: {folder}/ must not include {name}")
    return faults


def commands(path):
    """The commands of a CMakeLists.txt: line, name, arguments."""
    text = re.sub(r"#.*", "", path.read_text(encoding="utf-8"))
    for match in COMMAND.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group(1), match.group(2).split()


def links(path):
    """What the libraries of a CMakeLists.txt are linked with: line, room, target."""
    for number, name, arguments in commands(path):
        if name == "stackmap_library" and "LINK" in arguments:
            room, targets = arguments[0], arguments[arguments.index("LINK") + 1:]
        elif name == "target_link_libraries" and arguments[0].startswith("sm_"):
            room, targets = arguments[0].removeprefix("sm_"), arguments[1:]
        else:
            continue
        for target in targets:
            yield number, room, target


def check_links(root, path):
    for number, room, target in links(path):
        where = f"{path.relative_to(root)}:{number}"
        owner = LINK_OWNERS.get(target, room)
        if owner != room:
            yield f"{where}: {target} belongs to {owner}/"
        if target.startswith("sm_") and target.removeprefix("sm_") not in ALLOWED.get(room, set()):
            yield f"{where}: sm_{room} must not link {target}"


def rooms_without_row(root):
    for folder in sorted((root / "src").iterdir()):
        if folder.is_dir() and folder.name not in ALLOWED:
            yield f"src/{folder.name}: not in the table of who may include whom"


def unbuilt(root, top, why):
    listed = "\n".join(p.read_text(encoding="utf-8") for p in sorted((root / top).rglob("CMakeLists.txt")))
    for path in sorted((root / top).rglob("*.cpp")):
        # Fuzz targets and benchmarks are listed without the end of their names.
        name = re.sub("_(fuzz|bench)$", "", path.stem)
        if not re.search(rf"\b{re.escape(name)}\b", listed):
            yield f"{path.relative_to(root)}: in no CMakeLists.txt, {why}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    sources = [p for top in ("src", "tools") for p in sorted((root / top).rglob("*")) if p.suffix in (".h", ".cpp")]
    faults = [fault for path in sources for fault in check_file(root, path)]
    faults += rooms_without_row(root)
    faults += [fault for path in sorted((root / "src").rglob("CMakeLists.txt")) for fault in check_links(root, path)]
    faults += unbuilt(root, "src", "so it is dead")
    faults += unbuilt(root, "tests", "so it never runs")
    for fault in faults:
        print(fault)
    print(f"{len(sources)} files, {len(faults)} faults")
    return 1 if faults or not sources else 0


if __name__ == "__main__":
    sys.exit(main())
