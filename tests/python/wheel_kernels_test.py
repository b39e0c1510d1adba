"""The wheel of the kernels and the Debian package of both: what is in them, what they link, and that they work where they are installed."""

import os
import re
import shutil
import subprocess

from package import ROOT, STAGED, PackageTest, main
from lab import process  # noqa: E402

KERNELS = STAGED.resolve().parent / "python-kernels"
LIBRARY = "isocenter_kernels/libisocenter_kernels.so"
PROGRAM = """
import isocenter, numpy
from isocenter import local
from isocenter.local import _library
geometry = local.Geometry.circular(isocenter.CircularOrbit(750, 1200, 200), 30, 24, 32, 8.0)
volume = local.fdk(local.Phantom("cylinder", 60).project(geometry), geometry, grid=isocenter.Grid.cube(16, 8.0), device="cpu")
print(isocenter.__file__, _library.library()._name, abs(volume.array[7:9, 7:9, 7:9].mean()) < 40)
"""


class PackagesTest(PackageTest):
    def must(self, *argv, **environment):
        environment = {"PYTHONNOUSERSITE": "1", "PYTHONPATH": "", "ISOCENTER_KERNELS": "", **environment}
        done = process.run(list(map(str, argv)), 300, env=environment, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def need(self, *tools):
        missing = [tool for tool in tools if shutil.which(tool) is None]
        if missing:
            self.skipTest(f"install {', '.join(missing)} (./dev setup packaging)")

    def test_the_wheel(self):
        self.need("patchelf", "strip")
        subprocess.run([ROOT / "tools/dev/kernels_wheel.sh", KERNELS, "1.2.3", self.folder / "dist"], cwd=ROOT, check=True)
        (wheel,) = (self.folder / "dist").glob("isocenter_kernels-*-py3-none-linux_*.whl")
        site = self.folder / "site"
        self.must("/usr/bin/python3", "-m", "pip", "--disable-pip-version-check", "install", "--no-index", "--no-deps", "--target", site, wheel)
        # What it links lies beside it, but for what every system with a Python has.
        beside = {file.name for file in (site / "isocenter_kernels").iterdir()}
        for file in (site / "isocenter_kernels").glob("*.so*"):
            text = subprocess.run(["readelf", "-d", file], capture_output=True, text=True, check=True).stdout
            for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", text):
                if not re.match(r"(ld-linux|libc|libm|libstdc\+\+|libgcc_s|libpthread|libdl|librt)[-.]", needed):
                    self.assertIn(needed, beside, file.name)
        self.assertIn("sbom.spdx.json", beside)
        said = self.must("/usr/bin/python3", "-c", PROGRAM, PYTHONPATH=f"{site}{os.pathsep}{STAGED.resolve()}")
        self.assertRegex(said, f"{site}/{LIBRARY} True")

    def test_the_debian_package(self):
        self.need("dpkg-shlibdeps", "dpkg-deb", "strip")
        deb, root = self.folder / "python3-isocenter.deb", self.folder / "root"
        subprocess.run([ROOT / "tools/dev/deb_python.sh", STAGED.resolve().parent, "1.2.3", deb], cwd=ROOT, check=True)
        fields = subprocess.run(["dpkg-deb", "-f", deb], capture_output=True, text=True, check=True).stdout
        self.assertRegex(fields, r"(?m)^Package: python3-isocenter\nVersion: 1\.2\.3$")
        for package in ("python3-grpcio", "python3-protobuf", "python3-numpy", "libhwy1", "libc6"):
            self.assertRegex(fields, rf"(?m)^Depends: .*{package}")
        subprocess.run(["dpkg-deb", "--extract", deb, root], check=True)
        packages = root / "usr/lib/python3/dist-packages"
        text = subprocess.run(["readelf", "-d", packages / LIBRARY], capture_output=True, text=True, check=True).stdout
        self.assertNotRegex(text, "RPATH|RUNPATH")
        self.assertRegex(self.must("/usr/bin/python3", "-B", "-c", PROGRAM, PYTHONPATH=packages), f"{packages}/{LIBRARY} True")
        found = self.must("/usr/bin/python3", "-c", "import importlib.metadata as m; print(m.version('isocenter'))", PYTHONPATH=packages)
        self.assertEqual(found.strip(), "1.2.3")


if __name__ == "__main__":
    main()
