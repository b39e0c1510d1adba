"""docs/troubleshooting.md quotes messages that the code really has, and links to sections that exist."""

import re
import unittest

import support

PAGE = support.ROOT / "docs/troubleshooting.md"
SOURCES = ("server", "client", "proto/wire", "kernels/base", "kernels/calibrate", "kernels/geometry", "kernels/ops", "kernels/quality", "kernels/recon", "kernels/cuda")


def anchor(heading):
    return re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")


def code():
    """All sources with the pieces of their string literals joined, as the compiler does."""
    texts = [
        file.read_text()
        for room in SOURCES
        for file in sorted((support.ROOT / room).rglob("*"))
        if file.suffix in (".cc", ".h")
    ]
    return re.sub(r'"\s*\n\s*"', "", "\n".join(texts)).replace('\\"', '"').replace("%%", "%")


class TroubleshootingTest(unittest.TestCase):
    def test_its_messages_are_the_programs(self):
        text = code()
        count = 0
        for line in PAGE.read_text().splitlines():
            if not line.startswith("| `"):
                continue
            for quoted in re.findall(r"`([^`]+)`", line.split(" | ")[0]):
                for piece in quoted.split("…"):
                    piece = piece.strip(" '")
                    if len(piece) > 3:
                        count += 1
                        self.assertTrue(piece in text, f"no program says this: {quoted}")
        self.assertGreater(count, 50)

    def test_each_kind_of_warning_has_its_section_in_the_order_of_the_command_line(self):
        """The command line, the operator page, this page and the one for the arm tell the same kinds apart."""
        source = (support.ROOT / "client/cli/output/job_warnings.cc").read_text()
        of_volume, of_course = (
            [name.lower() for name in re.findall(r"WARNING_KIND_(\w+)", block)]
            for block in re.findall(r"constexpr std::array \w+ = \{(.*?)\};", source, re.DOTALL)
        )
        proto = (support.ROOT / "proto/isocenter/v1/jobs.proto").read_text()
        kinds = {name.lower() for name in re.findall(r"(?m)^  WARNING_KIND_(\w+) =", proto)} - {"unspecified"}
        self.assertEqual(sorted(of_volume + of_course), sorted(kinds))
        section = PAGE.read_text().partition("## Warnings to the room\n")[2].partition("\n## ")[0]
        parts = re.split(r"(?m)^### (.+)$", section)
        self.assertEqual([name.replace(" ", "_") for name in parts[1::2]], of_volume + of_course + ["not_checked"])
        for name, rows in zip(parts[1::2], parts[2::2]):
            for row in re.findall(r"(?m)^\| `.+$", rows) if name != "not checked" else []:
                self.assertRegex(row.split(" | ")[0], rf"\({name.replace(' ', '_')}(; `reconstruct`)?\)$")
        script = (support.ROOT / "web/src/lib/warnings.ts").read_text()
        on_page = re.search(r"OF_THE_VOLUME = new Set\(\[(.*?)\]", script, re.DOTALL)[1]
        self.assertEqual(sorted(re.findall(r"'(\w+)'", on_page)), sorted(of_volume))
        arm = (support.ROOT / "docs/user-guide/at-the-arm.md").read_text().partition("## A volume that may be wrong\n")[2]
        at_the_arm = [name.replace(" ", "_") for name in re.findall(r"(?m)^### (.+)$", arm)]
        self.assertEqual(sorted(at_the_arm), sorted(of_volume))

    def test_links_lead_somewhere(self):
        for page in ("troubleshooting.md", "runbook.md", "capacity.md"):
            folder = support.ROOT / "docs"
            for target in re.findall(r"\]\(([^)]+)\)", (folder / page).read_text()):
                file, _, section = target.partition("#")
                with self.subTest(page, target=target):
                    there = folder / file if file else folder / page
                    self.assertTrue(there.exists(), there)
                    if section:
                        headings = re.findall(r"(?m)^#+ (.+)$", there.read_text())
                        self.assertIn(section, [anchor(heading) for heading in headings])


if __name__ == "__main__":
    support.main()
