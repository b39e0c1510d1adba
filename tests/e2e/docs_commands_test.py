"""Commands that stand in the documentation: each has the flags that it is given there, and the protocols are there."""

import functools
import re
import unittest

import docs
import support
from lab import isocenter

PAGES = [support.ROOT / "README.md", *sorted(page for page in docs.DOCS.rglob("*.md") if "adr" not in page.parts)]
# A command and what follows it: up to what ends it in a shell, a table, or text in backquotes.
COMMAND = re.compile(r"\bisocenter ([a-z][a-z-]*(?: [a-z][a-z-]*)?)([^`|#;)$]*)")


@functools.cache
def help_of(*names):
    """None where there is no such command."""
    done = isocenter.call(*names, "--help")
    return done.stdout if done.returncode == 0 else None


@functools.cache
def names_of(*path):
    """The commands of the program, or of a command."""
    return set(re.findall(r"(?m)^  ([a-z][a-z-]*) {2,}", help_of(*path) or ""))


def commands():
    """(page, line, names, what follows) of every command in the documentation."""
    for page in PAGES:
        for number, line in enumerate(page.read_text().splitlines(), 1):
            for found in COMMAND.finditer(line):
                first, *second = found[1].split()
                if first not in names_of():
                    continue  # "isocenter and"
                names = [first, *second] if second and second[0] in names_of(first) else [first]
                yield page.relative_to(support.ROOT), number, names, " ".join(found[1].split()[len(names) :]) + found[2]


class DocsCommandsTest(unittest.TestCase):
    def test_flags_are_there(self):
        count = 0
        for page, line, names, rest in commands():
            legal = set(re.findall(r"--[a-z][\w-]*", help_of(*names)))
            for flag in re.findall(r"(?<![\w-])--[a-z][\w-]*", rest):
                count += 1
                self.assertIn(flag, legal, f"{page}:{line}: isocenter {' '.join(names)}")
        self.assertGreater(count, 150)

    def test_protocols_are_there(self):
        # Those that the server has, and that pages add to its configuration.
        built_in = (support.ROOT / "server/config/protocol_book.cc").read_text()
        known = set(re.findall(r'name: "(\w+)"', built_in + "".join(page.read_text() for page in PAGES))) | {"NAME"}
        named = [(page, line, name) for page, line, _, rest in commands() for name in re.findall(r"--protocol (\w+)", rest)]
        self.assertGreater(len(named), 4)
        for page, line, name in named:
            self.assertIn(name, known, f"{page}:{line}")


if __name__ == "__main__":
    support.main()
