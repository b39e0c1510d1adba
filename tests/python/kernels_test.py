"""libisocenter_kernels.so at its border: what it shows, what it links, and what it makes of arguments that are wrong."""

import ctypes
import os
import pathlib
import re
import resource
import shutil
import subprocess
import tempfile
import time
import unittest

from package import PackageTest, ROOT, STAGED, main, np, isocenter
from isocenter import local
from isocenter.local import _library

LIBRARY = pathlib.Path(os.environ["ISOCENTER_KERNELS"])
HEADER = ROOT / "kernels/c/isocenter_kernels.h"
ORBIT = isocenter.CircularOrbit(750, 1200, 200)
GRID = isocenter.Grid.cube(8, 20.0)
INVALID, EXHAUSTED = 3, 8

PROGRAM = r"""
#include <stdio.h>
#include "isocenter_kernels.h"
int main(void) {
  isocenter_device* device = 0;
  if (isocenter_abi() != ISOCENTER_KERNELS_ABI) return 1;
  if (isocenter_device_open("cpu", 1, 0, &device) != ISOCENTER_OK) return 2;
  printf("%s %s\n", isocenter_version(), isocenter_device_backend(device));
  isocenter_device_close(device);
  return isocenter_device_open("abacus", 1, 0, &device) == ISOCENTER_NOT_FOUND ? 0 : 3;
}
"""


def output(*argv):
    return subprocess.run(list(map(str, argv)), capture_output=True, text=True, check=True).stdout


class Library(unittest.TestCase):
    def test_it_shows_what_its_header_says_and_nothing_else(self):
        declared = set(re.findall(r"\b(isocenter_\w+)\(", HEADER.read_text()))
        shown = set(re.findall(r" [TWVBDRi] (\S+)$", output("nm", "-D", "--defined-only", LIBRARY), re.MULTILINE))
        self.assertEqual(shown, declared)
        self.assertEqual({f"isocenter_{name}" for name in _library._FUNCTIONS}, declared, "what the package calls")

    def test_structures_are_those_of_the_header(self):
        text = HEADER.read_text()
        for name, mirror in (
            *(("iteration", _library.Iteration), ("control", _library.Control), ("scan", _library.CScan), ("grid", _library.CGrid)),
            *(("fdk", _library.CFdk), ("iterative", _library.CIterative), ("phantom", _library.CPhantom)),
        ):
            body = re.search(rf"typedef struct isocenter_{name} {{(.*?)}} isocenter_{name};", text, re.DOTALL)[1]
            body = re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL)
            fields = re.findall(r"(\w+)(?:\[\d+\])?\s*[,;]", body)
            self.assertEqual([field for field, _ in mirror._fields_], fields, name)

    def test_it_links_no_grpc(self):
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", LIBRARY))
        self.assertEqual([name for name in needed if re.search("grpc|protobuf|dcmtk|ssl|sqlite|cufft", name)], [])

    def test_a_program_in_c(self):
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            self.skipTest("no compiler of C")
        with tempfile.TemporaryDirectory() as folder:
            source, program = pathlib.Path(folder) / "main.c", pathlib.Path(folder) / "main"
            source.write_text(PROGRAM)
            flags = ("-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{HEADER.parent}")
            output(compiler, *flags, source, LIBRARY, f"-Wl,-rpath,{LIBRARY.parent}", "-o", program)
            self.assertRegex(output(program), r"^\d+\.\d+\.\d+ cpu\n$")

    def test_raw_calls(self):
        """What the Python package would not let through."""
        library, nothing = _library.library(), ctypes.c_void_p()
        device = local.Device("cpu", threads=1)
        geometry = local.Geometry.circular(ORBIT, 4, 6, 8, 10.0)
        scan, grid = geometry.to_c(), _library.CGrid(8, 8, 8, 0)
        grid.spacing_mm[:], grid.direction[:] = (20.0,) * 3, np.eye(3).ravel().tolist()
        handle = _library.Handle("projector_new", "projector_free", device.handle, scan, grid, b"joseph", b"exact")
        x, y = np.zeros(512, "<f4"), np.zeros(192, "<f4")
        forward = library.isocenter_projector_forward

        def says(status, pattern, got):
            self.assertEqual(got, status, library.isocenter_message())
            self.assertRegex(library.isocenter_message().decode(), pattern)

        says(INVALID, "device is NULL", library.isocenter_device_open(b"cpu", 1, 0, None))
        says(INVALID, "projector is NULL", forward(None, x.ctypes.data, 512, y.ctypes.data, 192, None))
        says(INVALID, "volume is NULL", forward(handle, None, 512, y.ctypes.data, 192, None))
        says(INVALID, r"volume has 511 elements; legal is 8 x 8 x 8 = 512", forward(handle, x.ctypes.data, 511, y.ctypes.data, 192, None))
        says(INVALID, r"projections has -1 elements", forward(handle, x.ctypes.data, 512, y.ctypes.data, -1, None))
        says(INVALID, "no multiple of 4", forward(handle, x.ctypes.data + 1, 512, y.ctypes.data, 192, None))
        says(
            INVALID, "projections lies in the memory of volume",
            forward(handle, x.ctypes.data, 512, x.ctypes.data + 1024, 192, None),
        )
        says(INVALID, "scan is NULL", library.isocenter_projector_new(device.handle, None, grid, b"joseph", b"exact", nothing))
        says(
            INVALID, "scan.views is 9223372036854775807; legal is 1 to 10000",
            library.isocenter_projector_new(
                device.handle, _library.CScan(8, 6, 1, 1, (1 << 63) - 1, scan.matrices), grid, b"joseph", b"exact", nothing
            ),
        )
        says(
            INVALID, "scan.matrices is NULL",
            library.isocenter_projector_new(device.handle, _library.CScan(8, 6, 1, 1, 4, None), grid, b"joseph", b"exact", nothing),
        )
        plan = local.plan_fdk(geometry, GRID, device=device)
        said = ctypes.c_char_p()
        warns = library.isocenter_plan_warnings
        says(INVALID, "plan is NULL", warns(None, y.ctypes.data, 192, ctypes.byref(said)))
        says(INVALID, "sentences is NULL", warns(plan._handle, y.ctypes.data, 192, None))
        says(INVALID, "frames is NULL", warns(plan._handle, None, 192, ctypes.byref(said)))
        says(INVALID, "frames has 191 elements; legal is 4 x 6 x 8 = 192", warns(plan._handle, y.ctypes.data, 191, ctypes.byref(said)))
        self.assertIsNone(said.value)
        self.assertIsNone(nothing.value)
        for name in _library._FUNCTIONS:
            if name.endswith(("_free", "_close")):
                getattr(library, f"isocenter_{name}")(None)


class Refused(PackageTest):
    def setUp(self):
        super().setUp()
        self.geometry = local.Geometry.circular(ORBIT, 6, 5, 7, 10.0)
        self.frames = np.zeros((6, 5, 7), "<f4")
        self.projector = local.Projector(self.geometry, GRID, device="cpu")
        self.volume = np.zeros(GRID.shape, "<f4")

    def refuse(self, pattern, function, *arguments, kind=isocenter.InvalidArgument, **options):
        self.assert_says(kind, pattern, function, *arguments, **options)

    def test_arrays(self):
        forward, fdk, nan = self.projector.forward, local.fdk, self.volume.copy()
        nan[1, 2, 3] = np.nan
        unaligned = np.frombuffer(bytearray(4 * 512 + 1), np.uint8)[1:].view("<f4").reshape(8, 8, 8)
        readonly = np.zeros((6, 5, 7), "<f4")
        readonly.flags.writeable = False
        for pattern, array in (
            (r"volume is of type list; legal is a numpy.ndarray", self.volume.tolist()),
            (r"volume.shape is \(8, 8\); legal is \(8, 8, 8\)", self.volume[0]),
            (r"volume.shape is \(0, 8, 8\); legal is \(8, 8, 8\)", self.volume[:0]),
            (r"volume.dtype is float64; legal is", self.volume.astype("f8")),
            (r"volume.dtype is >f4; legal is", self.volume.astype(">f4")),
            (r"volume.dtype is uint16; legal is float32", self.volume.astype("u2")),
            (r"volume.strides is .*; legal is those of a C-contiguous array", np.asfortranarray(self.volume)),
            (r"volume is at an address", unaligned),
            (r"volume\[1, 2, 3\] is nan; legal is a finite number", nan),
        ):
            self.refuse(pattern, forward, array)
        self.refuse("projections is read-only", forward, self.volume, out=readonly)
        self.refuse("lies in the memory of", forward, self.volume, out=self.volume.ravel()[:210].reshape(6, 5, 7))
        frames = self.frames.copy()
        frames[5, 4, 6] = -np.inf
        self.refuse(r"frames\[5, 4, 6\] is -inf", fdk, frames, self.geometry, grid=GRID)
        self.refuse("i0_counts, which counts need, is None", fdk, self.frames.astype("u2"), self.geometry, grid=GRID)
        self.refuse(r"frames.shape is \(6, 5, 7\); legal is \(3, 5, 7\)", fdk, self.frames, self.geometry[:3], grid=GRID)

    def test_two_terabytes_are_looked_at_and_not_taken(self):
        began, before = time.monotonic(), _resident()
        file = self.folder / "huge"
        with open(file, "wb") as out:
            out.truncate(1 << 41)
        huge = np.memmap(file, "<f4", "r+", shape=(1 << 13, 1 << 13, 1 << 13))
        self.refuse(r"volume.shape is \(8192, 8192, 8192\); legal is \(8, 8, 8\)", self.projector.forward, huge)
        self.refuse(r"projections.shape is \(8192, 8192, 8192\); legal is \(6, 5, 7\)", self.projector.forward, self.volume, out=huge)
        self.refuse("pitch_mm is None", local.fdk, huge, self.geometry.matrices)
        self.refuse(r"matrices.shape is \(6, 3, 4\); legal is \(8192, 3, 4\)", local.fdk, huge, self.geometry.matrices, 1.0)
        cube = isocenter.Grid.cube(4096, 0.05)
        for function in (
            lambda: local.fdk(self.frames, self.geometry, grid=cube, device="cpu"),
            lambda: local.iterate(self.frames, self.geometry, grid=cube, device="cpu"),
            lambda: local.Projector(self.geometry, cube, device="cpu"),
        ):
            self.refuse(r"\d GiB", function, kind=isocenter.ResourceExhausted)
        self.assertLess(time.monotonic() - began, 60)
        self.assertLess(_resident() - before, 256 << 20)

    def test_geometry(self):
        matrices = self.geometry.matrices.copy()
        matrices[2, 1, 1] = np.nan
        self.refuse(r"matrices\[2, 1, 1\] is nan; legal is a finite number", local.Geometry, matrices, 5, 7, 1.0)
        matrices = self.geometry.matrices.copy()
        matrices[3, :, 0] = 0
        self.refuse("matrix of view 3", local.fdk, self.frames, matrices, 1.0, grid=GRID)
        matrices = self.geometry.matrices.copy()
        matrices[4] *= -1
        self.refuse(r"w of matrices\[4\] at the isocentre .* above 0", local.Geometry, matrices, 5, 7, 1.0)
        self.refuse("matrices.* is of type int", local.Geometry, 5, 5, 7, 1.0)
        self.refuse("the number of matrices is 0; legal is 1 to 10000", local.Geometry, np.zeros((0, 3, 4)), 5, 7, 1.0)
        self.refuse("rows is 0; legal is 1 to 8192", local.Geometry, self.geometry.matrices, 0, 7, 1.0)
        self.refuse("pitch_mm is 0; legal is more than 0", local.Geometry, self.geometry.matrices, 5, 7, 0)
        self.refuse("views is 0; legal is 1 to 10000", local.Geometry.circular, ORBIT, 0, 5, 7, 1.0)
        self.refuse("amplitude is 11", local.Geometry.wobbling, ORBIT, 5, 5, 7, 1.0, 11.0)
        self.refuse("grid is 5; legal is a Grid", local.Projector, self.geometry, 5)
        left = isocenter.Grid((8, 8, 8), (1, 1, 1), None, ((-1, 0, 0), (0, 1, 0), (0, 0, 1)))
        self.refuse("determinant -1; legal is .1 .right-handed", local.Projector, self.geometry, left)
        short = local.Geometry.circular(isocenter.CircularOrbit(750, 1200, 90), 6, 5, 7, 10.0)
        self.refuse("arc", local.fdk, self.frames, short, grid=GRID)

    def test_settings(self):
        for pattern, settings in (
            ("window is 'box'; legal is ram-lak, shepp-logan, cosine, hamming, hann", {"window": "box"}),
            ("window is 5; legal is a str", {"window": 5}),
            ("cutoff is 2; legal is more than 0, at most 1", {"cutoff": 2}),
            ("cutoff is nan", {"cutoff": float("nan")}),
            ("a setting of filtered back-projection is 'windows'; legal is window, redundancy", {"windows": "hann"}),
            ("mu_water_per_mm is 1; legal is 0.001 to 0.1", {"mu_water_per_mm": 1}),
        ):
            self.refuse(pattern, local.fdk, self.frames, self.geometry, grid=GRID, **settings)
        for pattern, settings in (
            ("no algorithm 'art'; there are: sirt, sart", {"algorithm": "art"}),
            ("iterations is 0; legal is 1 to 1000", {"iterations": 0}),
            ("iterations is 1.5; legal is a whole number", {"iterations": 1.5}),
            ("matched is 2; legal is 0 to 1", {"matched": 2}),
            ("prior_strength is not for os_sart", {"prior_strength": 1.0}),
            ("subsets is 7; legal is at most the number of views, 6", {"subsets": 7}),
        ):
            self.refuse(pattern, local.iterate, self.frames, self.geometry, grid=GRID, **settings)
        self.refuse("no projector 'nearest'", local.Projector, self.geometry, GRID, "nearest")
        self.refuse("there is no phantom 'brick'; there are", local.Phantom, "brick", kind=isocenter.NotFound)
        self.refuse("scale_mm is 0; legal is 0.01 to 1000", local.Phantom, "head", 0)

    def test_devices(self):
        self.assertIn("cpu", local.backends())
        self.assertRegex(repr(local.Device("cpu", threads=1)), "<Device CPU, 1 thread, ")
        self.refuse("abacus.*cpu", local.Device, "abacus", kind=isocenter.NotFound)
        self.refuse("device 'cpu:x': its number is 'x'; legal is 0 to 63", local.Device, "cpu:x")
        self.refuse("threads is -1; legal is 0 to 1024", local.Device, "cpu", threads=-1)
        self.refuse("device is 7", local.Projector, self.geometry, GRID, device=7)
        small = local.Device("cpu", memory_bytes=1 << 20)
        self.refuse("the limit is 1 MiB", local.Projector, self.geometry, isocenter.Grid.cube(128, 1.0), device=small, kind=isocenter.ResourceExhausted)
        if not pathlib.Path("/dev/nvidia0").exists():
            self.refuse("CUDA|cuda", local.Device, "cuda", kind=(isocenter.NotFound, isocenter.Unavailable))

    def test_a_library_that_is_not_there(self):
        for pattern, place in (("not found at /nowhere/x.so; install the wheel", "/nowhere/x.so"), ("cannot be loaded", HEADER)):
            done = subprocess.run(
                ["/usr/bin/python3", "-c", "from isocenter import local; local.backends()"], check=False, capture_output=True, text=True,
                env={**os.environ, "PYTHONPATH": str(STAGED), "ISOCENTER_KERNELS": str(place)},
            )
            self.assertRegex(done.stderr, f"NotFound: .*{pattern}")


def _resident():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


if __name__ == "__main__":
    main()
