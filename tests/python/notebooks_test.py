"""The notebooks of python/examples/notebooks: their cells of code, one after the other, as Jupyter would run them.

Jupyter itself and its kernel would be a hundred packages for what is a loop.
"""

import importlib.util
import json
import os
import subprocess
import sys
import unittest

from package import ROOT, STAGED, PackageTest, main

NOTEBOOKS = ROOT / "python/examples/notebooks"
HAS_SCIPY = importlib.util.find_spec("scipy") is not None


class NotebooksTest(PackageTest):
    def run_notebook(self, name, **environment):
        notebook = json.loads((NOTEBOOKS / name).read_text())
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        self.assertGreater(len(cells), 2)
        program = self.folder / "cells.py"
        program.write_text("\n\n".join("".join(cell["source"]) for cell in cells))
        done = subprocess.run(
            [sys.executable, "-B", program], capture_output=True, text=True, timeout=500, check=False, cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(STAGED.resolve()), "MPLBACKEND": "agg", **environment},
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_they_hold_no_results_of_some_machine(self):
        for file in NOTEBOOKS.glob("*.ipynb"):
            notebook = json.loads(file.read_text())
            for cell in notebook["cells"]:
                self.assertFalse(cell.get("outputs"), file.name)
                self.assertIsNone(cell.get("execution_count"), file.name)
        self.assertEqual(len(list(NOTEBOOKS.glob("*.ipynb"))), 4, "one that no test runs")

    def test_first_volume(self):
        out = self.run_notebook("first_volume.ipynb", ISOCENTER_SERVER=self.service().grpc)
        self.assertRegex(out, r"\(96, 96, 96\) float32")
        self.assertTrue((self.folder / "head.nii.gz").is_file())

    @unittest.skipUnless(HAS_SCIPY, "install python3-scipy (./dev setup)")
    def test_own_algorithm(self):
        out = self.run_notebook("own_algorithm.ipynb")
        self.assertRegex(out, r"step 11: residual 0\.0\d+, error \d+ HU")
        self.assertIn("the sum of five subsets is the whole: True", out)

    def test_noise_study(self):
        self.assertRegex(self.run_notebook("noise_study.ipynb"), r"hann: noise ~ dose\^-0\.(4[5-9]|5[0-5])")

    def test_compare_protocols(self):
        out = self.run_notebook("compare_protocols.ipynb", ISOCENTER_SERVER=self.service().grpc)
        self.assertRegex(out, r"fdk_then_ossart +\d+\.\d HU +\d+\.\d HU")


if __name__ == "__main__":
    main()
