"""The package says the types of what it offers, and mypy agrees (py.typed promises it)."""

import importlib.util
import inspect
import os
import subprocess
import sys
import unittest

from package import STAGED, main, isocenter
from isocenter import local


class TypesTest(unittest.TestCase):
    @unittest.skipUnless(importlib.util.find_spec("mypy"), "install python3-mypy (./dev setup)")
    def test_mypy_finds_nothing(self):
        done = subprocess.run(
            [
                *(sys.executable, "-m", "mypy", "--ignore-missing-imports", "--no-incremental", "--cache-dir", os.devnull),
                *("--exclude", "isocenter/v1", "--follow-imports", "silent", STAGED / "isocenter"),
            ],
            capture_output=True, text=True, check=False, timeout=500,
        )
        self.assertRegex(done.stdout, r"checked \d+ source files|no issues found", done.stderr)
        # What protoc generates is not ours; python3-protobuf has no types.
        ours = [line for line in done.stdout.splitlines() if ": error: " in line and "/v1/" not in line.partition(":")[0]]
        self.assertEqual(ours, [])

    def test_all_that_is_offered_has_a_docstring(self):
        for module in (isocenter, local):
            for name in module.__all__:
                thing = getattr(module, name)
                self.assertTrue(thing.__doc__, name)
                members = vars(thing).items() if inspect.isclass(thing) else ()
                for member, value in members:
                    function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
                    if not member.startswith("_") and inspect.isfunction(function):
                        self.assertTrue(function.__doc__, f"{name}.{member}")


if __name__ == "__main__":
    main()
