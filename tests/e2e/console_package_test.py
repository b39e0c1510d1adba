"""A console of somebody else: the installed package of the console library, its example built out of tree, and a first acquisition."""

import os
import pathlib
import re
import shutil
import subprocess

import support
from lab import isocenter

MOST_LINES = 60


class ConsolePackageTest(support.ServiceTest):
    def must(self, *argv, cwd=None):
        done = subprocess.run([str(a) for a in argv], cwd=cwd, capture_output=True, text=True, timeout=900, check=False)
        self.assertEqual(done.returncode, 0, f"{argv}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        return done.stdout

    def setUp(self):
        super().setUp()
        support.need("cmake", "cmake")
        self.build = isocenter.binary("isocenter").resolve().parents[1]
        self.prefix = self.folder / "installed"
        self.must("cmake", "--install", self.build, "--component", "client", "--prefix", self.prefix)
        self.example = self.folder / "example"
        shutil.copytree(self.prefix / "share/isocenter/example", self.example)

    def configure(self, *settings):
        return self.must("cmake", "-S", self.example, "-B", self.folder / "console", f"-DCMAKE_PREFIX_PATH={self.prefix}", *settings)

    def test_a_first_acquisition(self):
        source = (self.example / "console.cc").read_text().splitlines()
        self.assertLessEqual(len(source), MOST_LINES)
        self.configure("-DCMAKE_BUILD_TYPE=Release")
        self.must("cmake", "--build", self.folder / "console")
        service = self.service()
        console = self.folder / "console/console"
        said = self.must(console, service.grpc)
        job = re.match(r"job (\S+)\n", said)[1]
        self.assertRegex(said, r"\d+ slices in [\d.]+ s\n$")
        # The ball of water that it shows is water, and around it is air.
        voxels = memoryview(self.fetch_voxels(service, job)).cast("f")
        edge = round(len(voxels) ** (1 / 3))
        middle = voxels[(edge // 2 * edge + edge // 2) * edge + edge // 2]
        self.assertAlmostEqual(middle, 0, delta=30)
        self.assertAlmostEqual(voxels[(edge // 2 * edge + edge // 2) * edge + edge // 16], -1000, delta=100)
        # What it is told when nothing is there.
        done = subprocess.run([console, "127.0.0.1:1"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("nothing listens at 127.0.0.1:1", done.stderr)

    def test_its_version_is_asked_for(self):
        version = re.search(r"project\(isocenter VERSION ([0-9.]+)", (support.ROOT / "CMakeLists.txt").read_text())[1]
        lists = self.example / "CMakeLists.txt"
        text = lists.read_text()
        for wanted, fits in ((version, True), ("99.0", False)):
            lists.write_text(text.replace("find_package(isocenter CONFIG", f"find_package(isocenter {wanted} CONFIG"))
            build = self.folder / f"for-{wanted}"
            done = subprocess.run(
                ["cmake", "-S", self.example, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}"], capture_output=True, text=True, check=False
            )
            self.assertEqual(done.returncode == 0, fits, done.stderr)

    def test_nothing_of_the_build_is_in_it(self):
        """It can be moved: no file but the archive of objects names where it was built or installed."""
        for file in self.prefix.rglob("*"):
            if file.is_file() and file.suffix != ".a":
                for place in (self.build, self.prefix, support.ROOT):
                    self.assertNotIn(os.fsencode(place), file.read_bytes(), file)
        headers = {str(f.relative_to(self.prefix / "include/isocenter")) for f in (self.prefix / "include").rglob("*.h")}
        self.assertIn("client/acquisition_stream.h", headers)
        # Each header is complete: what it includes of ours is installed, too.
        for header in headers:
            text = (self.prefix / "include/isocenter" / header).read_text()
            for included in re.findall(r'#include "((?:client|kernels|proto|isocenter)/[^"]+)"', text):
                self.assertIn(included, headers, header)
        self.assertTrue(list((self.prefix / "share/isocenter/proto").rglob("acquisition.proto")))
        self.assertTrue(pathlib.Path(self.prefix / "lib").exists())


if __name__ == "__main__":
    support.main()
