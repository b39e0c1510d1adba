"""The programs that are shipped have what their compiler and linker are told to put in (cmake/Hardening.cmake)."""

import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("ISOCENTER_BIN", ROOT / "build/release/bin"))
LIBRARIES = [BIN.parent / "lib" / name for name in ("libisocenter_rabbitct.so", "libisocenter_kernels.so")]
PROGRAMS = [BIN / name for name in ("isocenterd", "isocenter", "isocenter-bench")]
SHIPPED = [*PROGRAMS, *LIBRARIES]
# What leaves no trace in a program that could be asked for.
FLAGS = ("-fstack-protector-strong", "-fstack-clash-protection", "-D_FORTIFY_SOURCE=3")
EXIT_SKIPPED = 77


def readelf(what, file):
    return subprocess.run(["readelf", "--wide", what, file], capture_output=True, text=True, check=True).stdout


class HardeningTest(unittest.TestCase):
    def check(self, what, pattern, files=SHIPPED):
        for file in files:
            with self.subTest(file.name):
                self.assertRegex(readelf(what, file), pattern)

    def test_programs_are_position_independent(self):
        self.check("--file-header", r"Type:\s+DYN")
        self.check("--dynamic", r"FLAGS_1.*\bPIE\b", PROGRAMS)

    def test_relocations_are_resolved_at_the_start_and_read_only(self):
        self.check("--program-headers", "GNU_RELRO")
        self.check("--dynamic", r"\bBIND_NOW\b|FLAGS_1.*\bNOW\b")

    def test_the_stack_is_not_executable(self):
        self.check("--program-headers", r"GNU_STACK\s+\S+ \S+ \S+ \S+ \S+ RW ")

    def test_the_stack_is_watched(self):
        self.check("--dyn-syms", r"UND __stack_chk_fail@")

    def test_calls_of_the_c_library_are_checked(self):
        # The kernels' library has no such call that could be checked.
        self.check("--dyn-syms", r"UND __\w+_chk@", [*PROGRAMS, LIBRARIES[0]])

    @unittest.skipUnless(platform.machine() == "x86_64", "of x86")
    def test_branches_lead_to_marked_places(self):
        for file in PROGRAMS:
            text = subprocess.run(["objdump", "-d", "--disassemble=main", file], capture_output=True, text=True, check=True).stdout
            with self.subTest(file.name):
                self.assertRegex(text, r"<main>:\n[^\n]*endbr64")

    def test_no_source_is_compiled_without(self):
        commands = json.loads((BIN.parent / "compile_commands.json").read_text())
        ours = [c for c in commands if re.search(r"/(client|kernels|proto|server)/.*\.cc$|cmake_pch", c["file"])]
        self.assertGreater(len(ours), 100)
        for command in ours:
            for flag in FLAGS:
                self.assertIn(f" {flag} ", command["command"], command["file"])


if __name__ == "__main__":
    build = (BIN.parent / "compile_commands.json").read_text()
    if "-fsanitize" in build or " -DNDEBUG " not in build:
        print("this is not the build that is shipped")
        sys.exit(EXIT_SKIPPED)
    unittest.main(verbosity=2)
