"""The image's own command: whoever starts it and says nothing opens no door."""

import json
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from lab import isocenter, process  # noqa: E402

LISTENS = "0A"  # of /proc/net/tcp


def listeners():
    """Addresses that something listens on in this network name space, as the kernel writes them."""
    found = []
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state = line.split()[:4]
            if state == LISTENS:
                found.append(local.partition(":")[0])
    return found


class ImageDefaultsTest(unittest.TestCase):
    def test_it_listens_on_loopback_only(self):
        text = (ROOT / "Dockerfile").read_text()
        command = json.loads(re.search(r"(?m)^CMD (\[(?:[^\]]|\n)*\])", text)[1].replace("\\\n", ""))
        with tempfile.TemporaryDirectory() as folder:
            arguments = [argument.replace("/var/lib/isocenter", folder) for argument in command]
            node = process.Process([isocenter.binary("isocenterd"), *arguments], pathlib.Path(folder) / "log")
            self.addCleanup(node.stop)
            node.wait_for(lambda: re.search("(?m)^ready", node.output()), 120, "to be ready")
            loopback = "0100007F"
            self.assertEqual(set(listeners()), {loopback})
            node.stop()


if __name__ == "__main__":
    unittest.main(verbosity=2)
