"""The Debian package has no library of others: it links the system's, and depends on the packages that have them."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

EXIT_SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("ISOCENTER_BIN", ROOT / "build/release/bin"))
PROGRAMS = ("isocenterd", "isocenter", "isocenter-bench")
MODULE = "libisocenter_rabbitct.so"
# What reads the bytes of strangers.
READERS = ("libssl3", "libgrpc++", "libprotobuf", "libdcmtk", "libsqlite3-0", "libpng16", "libpugixml", "zlib1g")


def output(*argv):
    return subprocess.run([str(a) for a in argv], capture_output=True, text=True, check=True).stdout


def lay_out(tree):
    """As tools/dev/package.sh does, with as little as makes a package."""
    for folder in ("bin", "lib", "share/isocenter/web/docs", "docs", "deploy"):
        (tree / folder).mkdir(parents=True)
    for program in PROGRAMS:
        output("strip", "-o", tree / "bin" / program, BIN / program)
    output("strip", "-o", tree / "lib" / MODULE, BIN.parent / "lib" / MODULE)
    for name in ("isocenterd.textproto", "isocenterd.service"):
        shutil.copy(ROOT / "deploy" / name, tree / "deploy")
    (tree / "sbom.spdx.json").write_text("{}")


def owner(file):
    """The package that a library came with; it may be known by its name before /usr was merged."""
    for name in (file, file.removeprefix("/usr"), f"/usr{file}"):
        done = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.partition(":")[0]
    raise AssertionError(f"no package has {file}")


class DebTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="isocenter-deb-")))
        lay_out(cls.folder / "tree")
        cls.deb = cls.folder / "isocenter.deb"
        subprocess.run([ROOT / "tools/dev/deb.sh", cls.folder / "tree", "1.2.3", cls.deb], cwd=ROOT, check=True)
        output("dpkg-deb", "--extract", cls.deb, cls.folder / "root")
        cls.depends = re.findall(r"([a-z0-9][a-z0-9+.-]+)(?: \([^)]*\))?(?:,|$| \|)", output("dpkg-deb", "-f", cls.deb, "Depends").strip())

    def linked(self):
        """The files of the package that are programs or libraries."""
        files = [f for f in (self.folder / "root").rglob("*") if f.is_file() and not f.is_symlink()]
        return [f for f in files if f.read_bytes()[:4] == b"\x7fELF"]

    def test_it_brings_no_library_along(self):
        self.assertEqual({f.name for f in self.linked()}, {*PROGRAMS, MODULE})
        self.assertEqual(list((self.folder / "root").rglob("dicom.dic")), [], "that of the system's DCMTK is read")

    def test_nothing_leads_to_other_libraries_than_the_systems(self):
        for file in self.linked():
            self.assertNotRegex(output("readelf", "-d", file), "RPATH|RUNPATH", file.name)

    def test_it_depends_on_what_it_links(self):
        for file in self.linked():
            needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", file))
            paths = dict(re.findall(r"(\S+) => (/\S+)", output("ldd", file)))
            for library in needed:
                if library in paths:  # but for the loader
                    package = owner(paths[library])
                    # Some provide a name that says more, e.g. libspdlog1.10-fmt9.
                    found = [name for name in self.depends if name == package or name.startswith(f"{package}-")]
                    self.assertNotEqual(found, [], f"{file.name} needs {library} of {package}; there are {self.depends}")

    def test_who_reads_strangers_bytes_is_updated_by_the_system(self):
        for reader in READERS:
            self.assertTrue(any(name.startswith(reader) for name in self.depends), f"{reader} is not among {self.depends}")


class DevDebTest(unittest.TestCase):
    """isocenter-dev: the console library. Its example is built by e2e_console_package."""

    def test_a_console_finds_it(self):
        with tempfile.TemporaryDirectory(prefix="isocenter-dev-") as name:
            folder = pathlib.Path(name)
            deb = folder / "dev.deb"
            subprocess.run([ROOT / "tools/dev/deb_dev.sh", BIN.parent, "1.2.3", deb], cwd=ROOT, check=True)
            output("dpkg-deb", "--extract", deb, folder / "root")
            usr = folder / "root/usr"
            output("cmake", "-S", usr / "share/isocenter/example", "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={usr}")
            for package in output("dpkg-deb", "-f", deb, "Depends").strip().split(", "):
                self.assertIn("install ok installed", output("dpkg-query", "-W", "-f", "${Status}", package), package)
            # Nothing that the other package has, too.
            files = {str(f.relative_to(usr)) for f in usr.rglob("*") if f.is_file()}
            self.assertFalse([f for f in files if f.startswith(("bin/", "lib/isocenter/"))])
            self.assertIn("include/isocenter/client/acquisition_stream.h", files)


if __name__ == "__main__":
    for tool in ("dpkg-shlibdeps", "dpkg-deb", "readelf"):
        if not shutil.which(tool):
            print(f"{tool} was not found; install it with: ./dev setup test")
            sys.exit(EXIT_SKIPPED)
    unittest.main(verbosity=2)
