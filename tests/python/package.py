"""What every test of the Python package starts from: the staged package on the path, services, a small scan as NumPy arrays."""

import functools
import importlib.util
import os
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
import support  # noqa: E402

_PACKAGES = {"grpc": "python3-grpcio", "google.protobuf": "python3-protobuf", "numpy": "python3-numpy"}
STAGED = pathlib.Path(os.environ.get("ISOCENTER_PYTHON", ROOT / "build/release/python"))


def _is_there(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of the folder above it
        return False


_missing = [package for module, package in _PACKAGES.items() if not _is_there(module)]
if _missing:
    print(f"skipped: install {', '.join(_missing)} (./dev setup)")
    sys.exit(support.EXIT_SKIPPED)
if not (STAGED / "isocenter/v1").is_dir():
    sys.exit(f"{STAGED} has no package; build it with: ./dev build python_package")
sys.path.insert(0, str(STAGED))
os.environ.setdefault("ISOCENTER_KERNELS", str(STAGED.resolve().parent / "lib/libisocenter_kernels.so"))

import isocenter  # noqa: E402
import numpy as np  # noqa: E402
from google.protobuf import text_format  # noqa: E402
from isocenter.v1 import acquisition_pb2  # noqa: E402

GRID = isocenter.Grid.cube(64, 3.0)  # as support.GRID


class Scan:
    """A bundle as arrays: frames [frame][row][column], matrices [frame][3][4], pitch_mm, i0_counts."""

    def __init__(self, folder):
        self.folder = folder
        self.header = text_format.Parse((folder / "acquisition.textproto").read_text(), acquisition_pb2.AcquisitionHeader())
        detector = self.header.detector
        counts = self.header.pixel_type == acquisition_pb2.PIXEL_TYPE_UINT16_COUNTS
        frames = np.fromfile(folder / "frames.raw", "<u2" if counts else "<f4")
        self.frames = frames.reshape(self.header.frame_count, detector.rows, detector.columns)
        self.matrices = np.array([matrix.value for matrix in self.header.matrices.matrix]).reshape(-1, 3, 4)
        self.pitch_mm = (detector.pitch_u_mm, detector.pitch_v_mm)
        self.i0_counts = self.header.i0_counts if counts else None

    def acquisition(self, **fields):
        fields = {"grid": GRID, "i0_counts": self.i0_counts, **fields}
        return isocenter.Acquisition.of(self.frames, self.matrices, self.pitch_mm, **fields)


class PackageTest(support.ServiceTest):
    """A test case with services and connections to them, which end with it."""

    def scan(self, *options):
        return _scan(self.bundle(*options))

    def connect(self, address, **options):
        service = isocenter.connect(address, **options)
        self.addCleanup(service.close)
        return service

    def assert_says(self, kind, pattern, function, *arguments, **options):
        """`function` raises `kind` with a message that matches."""
        with self.assertRaises(kind) as caught:
            function(*arguments, **options)
        self.assertRegex(str(caught.exception), pattern or ".")
        return caught.exception


@functools.lru_cache(maxsize=None)
def _scan(folder):
    return Scan(folder)


def count_jobs(address):
    """Jobs that a service knows, as the C++ client sees it."""
    done = support.isocenter.call("jobs", "--server", address)
    return len(re.findall(r"\d{8}T\d{6}-[0-9a-f]{8}", done.stdout))


main = support.main
__all__ = ["GRID", "PackageTest", "ROOT", "STAGED", "Scan", "count_jobs", "isocenter", "main", "np", "support", "unittest"]
