"""The tables of docs/scale.md are what the simulation says, with the command that the page gives."""

import re
import shlex
import subprocess
import sys
import unittest

import support

PAGE = support.ROOT / "docs/scale.md"
ROW = re.compile(r"(?m)^\| \d+ \| \d+ \| \d+ \| .+ \|$")


class ScaleTest(unittest.TestCase):
    def test_tables_are_the_simulations(self):
        text = PAGE.read_text()
        command = shlex.split(re.search(r"(?m)^python3 (tools/lab/rooms_simulation\.py .+)$", text)[1])
        done = subprocess.run(
            [sys.executable, "-B", *command], cwd=support.ROOT, capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = ROW.findall(text)
        self.assertGreater(len(rows), 30)
        self.assertEqual([row for row in rows if row not in done.stdout.splitlines()], [])


if __name__ == "__main__":
    support.main()
