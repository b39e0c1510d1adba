"""docs/threat-model.md says of each door which file checks it: the files are there."""

import re
import unittest

import support


class ThreatModelTest(unittest.TestCase):
    def test_the_files_that_it_names_exist(self):
        text = (support.ROOT / "docs/threat-model.md").read_text()
        named = set(re.findall(r"`((?:server|client|kernels|proto|tests|deploy)/[\w./-]+)`", text))
        self.assertGreater(len(named), 20)
        self.assertEqual([name for name in sorted(named) if not (support.ROOT / name).exists()], [])

    def test_every_listener_of_the_configuration_is_a_door(self):
        text = (support.ROOT / "docs/threat-model.md").read_text()
        reference = (support.ROOT / "docs/configuration-reference.md").read_text()
        ports = re.findall(r"(?:127\.0\.0\.1:|0 means )(\d{4,5})\b", "\n".join(
            line for line in reference.splitlines()
            if re.match(r"\| `(grpc_address|metrics_address|address|port|tls_port)` ", line)
        ))
        self.assertGreaterEqual(len(set(ports)), 5, ports)
        doors = text[text.index("## Doors") : text.index("## What is not defended")]
        for port in ports:
            self.assertIn(port, doors)


if __name__ == "__main__":
    support.main()
