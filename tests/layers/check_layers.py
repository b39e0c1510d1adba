#!/usr/bin/env python3
"""Holds every #include of the project against the tables of docs/rooms.md, and the folders against what it says of their size.

usage: check_layers.py REPOSITORY
Prints one line per forbidden include or crowded folder and exits 1, or the number of includes that were checked and exits 0.
"""

import pathlib
import re
import sys
from dataclasses import dataclass

SOURCE_SUFFIXES = {".h", ".cc", ".cu", ".cuh"}
SOURCE_FOLDERS = ("proto", "kernels", "server", "client")
MOST_FILES = 45  # of one folder
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")
# <vector>, <cstdint>: the standard library's headers are the only ones without a folder and a suffix.
STANDARD = re.compile(r"^[a-z_0-9]+$")
POSIX = re.compile(
    r"^(arpa|net|netinet|sys)/\w+\.h$"
    r"|^(cpuid|dirent|dlfcn|errno|fcntl|iconv|malloc|[a-z]mmintrin|netdb|poll|pthread|sched|signal|stdint|syslog|termios|time|unistd)\.h$"
)


class TableError(Exception):
    """docs/rooms.md itself is wrong."""


@dataclass
class Library:
    name: str
    headers: list
    rooms: list

    def owns(self, header):
        for pattern in self.headers:
            before, star, after = pattern.partition("*")
            if star:
                if header.startswith(before) and header.endswith(after):
                    return True
            elif header == pattern or (not pattern.endswith(".h") and header.startswith(pattern)):
                return True
        return False


@dataclass
class Rooms:
    edges: dict  # room -> rooms that it may include, transitive closure, itself among them
    libraries: list

    def of(self, path):
        """The room of a file: the longest table entry that is the file or a folder above it."""
        parts = path.split("/")
        for length in range(len(parts), 0, -1):
            room = "/".join(parts[:length])
            if room in self.edges:
                return room
        return None


def table_rows(text, title):
    """The cells of the first table below a heading, without its two header lines."""
    match = re.search(rf"^## {title}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if not match:
        raise TableError(f'no section "## {title}"')
    lines = [line for line in match[1].splitlines() if line.startswith("|")]
    if len(lines) < 3:
        raise TableError(f'no table in section "## {title}"')
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    for cells in rows:
        if len(cells) != 3:
            raise TableError(f'a row in section "## {title}" has {len(cells)} cells, not 3: {cells[0]}')
    return rows


def read_rooms(text):
    direct = {}
    for cells in table_rows(text, "Edges"):
        direct[CODE.findall(cells[0])[0]] = CODE.findall(cells[2])
    for room, targets in direct.items():
        for target in targets:
            if target not in direct:
                raise TableError(f"{room} lists {target}, which is no room")

    def reach(room, path):
        if room in path:
            raise TableError("cycle: " + " -> ".join(path + [room]))
        found = {room}
        for target in direct[room]:
            found |= reach(target, path + [room])
        return found

    libraries = [
        Library(cells[0], CODE.findall(cells[1]), CODE.findall(cells[2]))
        for cells in table_rows(text, "Libraries")
    ]
    return Rooms({room: reach(room, []) for room in direct}, libraries)


def within(path, places):
    return any(path == place or path.startswith(place + "/") for place in places)


def complaint(rooms, path, room, header):
    """Why `path` in `room` must not include `header`, or None."""
    for library in rooms.libraries:
        if library.owns(header):
            if within(path, library.rooms):
                break
            return f"{library.name} may be included only in {', '.join(library.rooms)}"
    else:
        library = None
    if header.startswith("isocenter/v1/"):
        if "proto" in rooms.edges[room]:
            return None
        return f"{room} may not include proto"
    if library or header.startswith("absl/") or STANDARD.match(header) or POSIX.match(header):
        return None
    target = rooms.of(header)
    if target is None:
        return "belongs to no room and no library of docs/rooms.md"
    if target not in rooms.edges[room]:
        return f"{room} may not include {target}"
    return None


def crowded(root):
    """One complaint for each folder with more files than one finds one's way in."""
    complaints = []
    for top in SOURCE_FOLDERS + ("tests",):
        for folder in sorted(path for path in (root / top).glob("**") if path.is_dir()):
            files = sum(file.is_file() for file in folder.iterdir())
            # Seeds are many; what npm installs is not ours.
            if files > MOST_FILES and not {"seeds", "node_modules"}.intersection(folder.parts):
                complaints.append(f"{folder.relative_to(root)}: has {files} files; legal is up to {MOST_FILES}")
    return complaints


def check(root):
    """Returns (complaints, number of includes checked)."""
    rooms = read_rooms((root / "docs/rooms.md").read_text())
    complaints, checked = crowded(root), 0
    for folder in SOURCE_FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in SOURCE_SUFFIXES:
                continue
            path = file.relative_to(root).as_posix()
            room = rooms.of(path)
            if room is None:
                complaints.append(f"{path}: belongs to no room of docs/rooms.md")
                continue
            text = file.read_text()
            for match in INCLUDE.finditer(text):
                checked += 1
                # A file that includes itself is Highway's way to compile a source once per target.
                why = None if match[2] == path else complaint(rooms, path, room, match[2])
                if why:
                    line = text.count("\n", 0, match.start()) + 1
                    complaints.append(f"{path}:{line}: includes {match[2]}: {why}")
    return complaints, checked


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        complaints, checked = check(pathlib.Path(sys.argv[1]))
    except (TableError, OSError) as error:
        print(f"docs/rooms.md: {error}")
        return 1
    if not checked:
        complaints.append("no #include found at all: wrong repository?")
    print("\n".join(complaints) if complaints else f"{checked} includes, all within docs/rooms.md")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
