"""The wheel, installed into a fresh virtual environment without a network, gives the first volume."""

import functools
import importlib.util

from package import ROOT, STAGED, PackageTest, main, unittest
from lab import process  # noqa: E402

MOST_BYTES = 1 << 20
# The Debian packages that make and install it.
_PACKAGES = {"setuptools": "python3-setuptools", "wheel": "python3-wheel", "pip": "python3-pip", "ensurepip": "python3-venv"}


class WheelTest(PackageTest):
    def setUp(self):
        super().setUp()
        missing = [package for module, package in _PACKAGES.items() if importlib.util.find_spec(module) is None]
        if missing:
            raise unittest.SkipTest(f"install {', '.join(missing)} (./dev setup)")

    def must(self, *argv):
        done = process.run(argv, 300, env={"PYTHONPATH": "", "PYTHONNOUSERSITE": "1"}, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_a_fresh_environment(self):
        self.must(ROOT / "tools/dev/wheel.sh", STAGED.resolve(), self.folder / "dist")
        (wheel,) = (self.folder / "dist").glob("isocenter-*-py3-none-any.whl")
        self.assertLess(wheel.stat().st_size, MOST_BYTES)
        self.must("/usr/bin/python3", "-m", "venv", "--system-site-packages", self.folder / "venv")
        python = self.folder / "venv/bin/python"
        run = functools.partial(self.must, python)
        run("-m", "pip", "--disable-pip-version-check", "install", "--no-index", "--no-deps", wheel)
        self.assertIn(str(self.folder / "venv"), run("-c", "import isocenter; print(isocenter.__file__)"))
        daemon = self.service()
        out = run(ROOT / "python/examples/first_volume.py", daemon.grpc, self.folder / "volume.nii.gz")
        self.assertIn("(128, 128, 128)", out)
        self.assertTrue((self.folder / "volume.nii.gz").is_file())
        run("-m", "pip", "--disable-pip-version-check", "uninstall", "--yes", "isocenter")


if __name__ == "__main__":
    main()
