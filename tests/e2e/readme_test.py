"""Somebody who types what README.md says, its blocks of shell commands in their order, in one shell and an empty directory; and a physicist
with the page and nothing else, what "A new station" says, on a small detector."""

import json
import pathlib
import re
import subprocess

import docs
import support
from lab import isocenter

README = pathlib.Path(docs.DOCS.parent / "README.md")
# What of it cannot run here: words of a block, and why.
LEFT_OUT = {
    "./dev demo": "installs packages, builds and tests; these tests are a part of that",
    "RabbitCTRunner": "the benchmark's runner is not free to be copied, and its data set takes minutes and 2.4 GB",
}

# The page's sizes take minutes.
SMALLER = {
    "310x240 --pitch-mm 1.232": "155x120 --pitch-mm 2.464",
    "256x256x256 --voxel-mm 0.7": "128x128x128 --voxel-mm 1.4",
    "--frames 360": "--frames 180",
    "--frames 120": "--frames 60",
}


class ReadmeTest(support.ServiceTest):
    def test_its_blocks_run_in_order(self):
        blocks = docs.blocks(README.read_text(), "sh")
        left_out = [why for words, why in LEFT_OUT.items() for block in blocks if words in block]
        run = [block for block in blocks if not any(words in block for words in LEFT_OUT)]
        self.assertEqual(len(left_out), len(LEFT_OUT), "a block that is left out is not there any more")
        self.assertGreaterEqual(len(run), 2)
        programs = pathlib.Path(isocenter.binary("isocenter")).resolve().parent
        # The service that a block starts ends with the shell.
        script = "trap 'kill $(jobs -p); wait' EXIT\nset -exo pipefail\n" + "\n".join(run)
        with open(self.folder / "said", "w+b") as said:
            desk = self.folder / "desk"
            desk.mkdir()
            done = subprocess.run(
                ["bash", "-c", script],
                cwd=desk,
                env={"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(self.folder)},
                stdout=said,
                stderr=subprocess.STDOUT,
                timeout=1200,
                check=False,
            )
            said.seek(0)
            text = said.read().decode(errors="replace")
        self.assertEqual(done.returncode, 0, text)
        # What it promises is there.
        self.assertRegex(text, r"(?m)^job \d{8}T\d{6}-\w+$")
        self.assertRegex(text, r"(?m)^\d{8}T\d{6}-\w+ +completed ")
        self.assertRegex(text, r"(?m)^central slab +\d+ +100 % +\d")
        self.assertGreater((desk / "volume.mha").stat().st_size, 1 << 20)
        self.assertEqual((desk / "sheet.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        rmse = float(re.search(r"(?m)^central slab +\d+ +100 % +([\d.]+)", text)[1])
        self.assertLess(rmse, 40, "a phantom with exact line integrals")

    def test_every_command_and_file_that_it_names_is_there(self):
        text = README.read_text()
        for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
            if not link.startswith("http"):
                self.assertTrue((README.parent / link).exists(), link)


class NewStationTest(support.ServiceTest):
    def test_the_block_makes_a_set_and_an_acceptance(self):
        (block,) = docs.blocks(docs.section("user-guide/physicist.md", "A new station"), "sh")
        for written, small in SMALLER.items():
            self.assertIn(written, block)
            block = block.replace(written, small)
        programs = pathlib.Path(isocenter.binary("isocenter")).resolve().parent
        desk = self.folder / "desk"
        desk.mkdir()
        done = subprocess.run(
            ["bash", "-c", f"set -eo pipefail\n{block}"],
            cwd=desk,
            env={"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(self.folder)},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, 0, said)
        self.assertRegex(said, r"(?m)^FIGURE +VALUE +UNIT +LEGAL$")
        self.assertRegex(said, r"(?m)^lag removed +99\.\d+ +% +at least 95$")
        accepted = json.loads((desk / "accepted.json").read_text())
        measures = {each["name"]: each["value"] for each in accepted["measures"]}
        self.assertLess(abs(measures["water_hu"]), 10)
        self.assertLess(abs(measures["insert_teflon_hu"] - 990), 15)
        # The scan of the acceptance is no later test, however it is reconstructed.
        for volume in ("accepted.mha", "phantom.mha"):
            later = isocenter.call("qa", desk / volume, "--baseline", desk / "accepted.json")
            self.assertEqual(later.returncode, 1, later.stdout)
            self.assertIn("it is of the same frames", later.stderr)


if __name__ == "__main__":
    support.main()
