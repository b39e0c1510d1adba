"""The examples of python/examples, and the code of docs/python.md, as they stand."""

import os
import re
import subprocess
import sys

from package import ROOT, STAGED, PackageTest, main, np

EXAMPLES = ROOT / "python/examples"


class FromTheDocsTest(PackageTest):
    def run_python(self, *argv):
        path = os.pathsep.join((str(STAGED.resolve()), str(EXAMPLES)))
        done = subprocess.run(
            [sys.executable, "-B", *map(str, argv)],
            capture_output=True, text=True, timeout=300, check=False, cwd=self.folder, env={**os.environ, "PYTHONPATH": path},
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_first_volume(self):
        out = self.run_python(EXAMPLES / "first_volume.py", self.service().grpc)
        water = float(re.search(r"water is (-?\d+\.\d) HU", out)[1])
        # Cone-beam and grid effects in the middle of a noise-free cylinder.
        self.assertLess(abs(water), 10, out)
        self.assertTrue((self.folder / "volume.nii.gz").is_file())

    def test_console(self):
        out = self.run_python(EXAMPLES / "console.py", self.service().grpc)
        self.assertRegex(out, r"preview after \d+ frames")
        self.assertRegex(out, r"volume of \(128, 128, 128\)")

    def test_the_page(self):
        """Its blocks, one after the other in one program, on the scan of the tests."""
        service, scan = self.service(), self.scan("--pixel", "line-integrals")
        np.save(self.folder / "frames.npy", scan.frames)
        np.save(self.folder / "matrices.npy", scan.matrices)
        text = (ROOT / "docs/python.md").read_text()
        blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        self.assertGreater(len(blocks), 3)
        program = "\n".join(blocks)
        for said, here in (("recon1:50051", service.grpc), ("pitch_mm=0.616", f"pitch_mm={scan.pitch_mm[0]}")):
            self.assertIn(said, program)
            program = program.replace(said, here)
        (self.folder / "page.py").write_text(program)
        self.run_python(self.folder / "page.py")
        self.assertTrue((self.folder / "volume.nii.gz").is_file())
        lines = [line for line in blocks[0].splitlines() if line.strip()]
        self.assertLessEqual(len(lines), 5, "the first volume takes five lines")


if __name__ == "__main__":
    main()
