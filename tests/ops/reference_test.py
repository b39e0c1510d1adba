"""docs/configuration-reference.md is what the configuration's definition says, and says something of every field."""

import subprocess
import sys
import unittest

import support


class ReferenceTest(unittest.TestCase):
    def test_it_is_up_to_date(self):
        done = subprocess.run(
            [sys.executable, "-B", support.ROOT / "tools/dev/config_reference.py", "--check"],
            capture_output=True, text=True, check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_it_has_every_field_of_the_file(self):
        page = (support.ROOT / "docs/configuration-reference.md").read_text()
        schema = (support.ROOT / "proto/isocenter/v1/server_config.proto").read_text()
        for line in schema.splitlines():
            if " = " in line and line.strip().endswith(";") and not line.startswith("syntax"):
                name = line.split(" = ")[0].split()[-1]
                self.assertIn(f"| `{name}` |", page)


if __name__ == "__main__":
    support.main()
