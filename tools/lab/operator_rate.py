#!/usr/bin/env python3
"""How long a projector and its adjoint take from Python and from C++: operator_rate.py [ROUNDS [VIEWS [BACKEND]]].

Joseph's model, 256^3 voxels of 1 mm, 620x480 pixels. Both, one after the other in each round, with arrays of the host in and out, in
seconds of the clock and of the processor; the second says more on a machine that others use.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/python")]

from package import isocenter, np  # noqa: E402
from isocenter import local  # noqa: E402

BENCH = pathlib.Path(os.environ.get("ISOCENTER_BIN", ROOT / "build/release/bin")) / "isocenter-operator-bench"


class Program:
    """The C++ program, which answers line by line."""

    def __init__(self, views, backend):
        self._process = subprocess.Popen([BENCH, str(views), backend], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def seconds(self, what):
        """Of the clock, of the processor."""
        print(what, file=self._process.stdin, flush=True)
        return tuple(map(float, self._process.stdout.readline().split()))

    def close(self):
        """Ends it."""
        self._process.stdin.close()
        self._process.wait()


def measure(function, array, out):
    """Of the clock, of the processor."""
    used, began = time.process_time(), time.perf_counter()
    function(array, out=out)
    return time.perf_counter() - began, time.process_time() - used


def main():
    given = sys.argv[1:]
    rounds, views = (int(given[index]) if index < len(given) else default for index, default in enumerate((7, 32)))
    backend = given[2] if len(given) > 2 else "cpu"
    orbit = isocenter.CircularOrbit(750, 1200, 200)
    geometry = local.Geometry.circular(orbit, views, 480, 620, 0.64)
    projector = local.Projector(geometry, isocenter.Grid.cube(256, 1.0), device=backend)
    volume, lines = np.full(projector.grid.shape, 0.02, "<f4"), np.ones(geometry.shape, "<f4")
    program = Program(views, backend)
    for what, function, array, out in (("forward", projector.forward, volume, lines), ("adjoint", projector.adjoint, lines, volume)):
        ours, theirs = [], []
        for _ in range(rounds + 1):
            ours.append(measure(function, array, out))
            theirs.append(program.seconds(what))
        for unit, index in (("clock", 0), ("processor", 1)):
            python, cpp = ([one[index] for one in each[1:]] for each in (ours, theirs))  # the first one allocates
            ratio = statistics.median(python) / statistics.median(cpp)
            print(
                f"{what}, {unit}: Python {statistics.median(python):.3f} s ({min(python):.3f}-{max(python):.3f}), "
                f"C++ {statistics.median(cpp):.3f} s ({min(cpp):.3f}-{max(cpp):.3f}), ratio {ratio:.3f}, of the best {min(python) / min(cpp):.3f}",
                flush=True,
            )
    program.close()


if __name__ == "__main__":
    main()
