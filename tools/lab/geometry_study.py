#!/usr/bin/env python3
"""What `isocenter calibrate geometry` leaves of a simulated arm: matrices against those that made the sweep.

    tools/lab/geometry_study.py fitted.csv true.csv        two tables of matrices
    tools/lab/geometry_study.py --simulate DIRECTORY       a sweep with a ball missing, calibrated, and compared

Both tables are in the phantom's frame: nothing is aligned.
"""
import argparse
import math
import pathlib
import subprocess
import sys
import time

ISOCENTER = pathlib.Path(__file__).resolve().parents[2] / "build/release/bin/isocenter"
RADIUS_MM = 80


def read(path):
    lines = [line for line in pathlib.Path(path).read_text().splitlines() if not line.startswith("#")]
    return [[float(x) for x in line.split(",")[-12:]] for line in lines]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def unit(a):
    length = math.sqrt(dot(a, a))
    return [x / length for x in a]


def without(a, *axes):
    for axis in axes:
        share = dot(a, axis)
        a = [x - share * y for x, y in zip(a, axis)]
    return unit(a)


def camera(m):
    """Source and the detector's axes: u, v and its normal."""
    rows = [m[0:3], m[4:7], m[8:11]]
    columns = [cross(rows[1], rows[2]), cross(rows[2], rows[0]), cross(rows[0], rows[1])]
    determinant = dot(rows[0], columns[0])
    source = [-sum(columns[r][i] * m[4 * r + 3] for r in range(3)) / determinant for i in range(3)]
    depth = unit(rows[2])
    v = without(rows[1], depth)
    return source, without(rows[0], depth, v), v, depth


def project(m, p):
    w = m[8] * p[0] + m[9] * p[1] + m[10] * p[2] + m[11]
    return [(m[4 * r] * p[0] + m[4 * r + 1] * p[1] + m[4 * r + 2] * p[2] + m[4 * r + 3]) / w for r in range(2)]


def sphere():
    points = [[0, 0, 0]]
    for i in range(200):
        z = 1 - (2 * i + 1) / 200
        r = RADIUS_MM * math.sqrt(1 - z * z)
        points.append([r * math.cos(2.4 * i), r * math.sin(2.4 * i), RADIUS_MM * z])
    return points


def square(a, b):
    return sum((x - y) ** 2 for x, y in zip(a, b))


def compare(fitted, true):
    if len(fitted) != len(true):
        sys.exit(f"{len(fitted)} matrices against {len(true)}")
    points = sphere()
    pixels, sources, along, axes = [], [], [], []
    for a, b in zip(fitted, true):
        pixels += [square(project(a, p), project(b, p)) for p in points]
        camera_a, camera_b = camera(a), camera(b)
        sources.append(square(camera_a[0], camera_b[0]))
        along.append(dot([x - y for x, y in zip(camera_a[0], camera_b[0])], camera_b[3]) ** 2)
        axes.append(max(square(camera_a[k], camera_b[k]) for k in (1, 2, 3)))

    def rms_and_most(name, squares, scale, unit_name):
        rms = scale * math.sqrt(sum(squares) / len(squares))
        print(f"{name:42} rms {rms:.4f}, most {scale * math.sqrt(max(squares)):.4f} {unit_name}")

    rms_and_most(f"reprojection, ball of {RADIUS_MM} mm", pixels, 1, "px")
    rms_and_most("source", sources, 1, "mm")
    rms_and_most("source, along the detector's normal", along, 1, "mm")
    rms_and_most("detector's axes, the worst of three", axes, 180 / math.pi, "deg")


def helix_without(missing):
    """The built-in helix without one ball, as a table."""
    state, lines = 1, []
    for i in range(108):
        diameter = 2.5 if state & 1 else 1.5
        state = ((state << 1) | (((state >> 6) ^ (state >> 5)) & 1)) & 127
        angle = 2 * math.pi * i / 18
        if i != missing:
            lines.append(f"{60 * math.cos(angle)!r} {60 * math.sin(angle)!r} {80 * (2 * i / 107 - 1)!r} {diameter}")
    return "\n".join(lines) + "\n"


def simulate(directory, seed):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "balls.txt").write_text(helix_without(41))
    subprocess.run([ISOCENTER, "simulate", "--beads", directory / "balls.txt", "--out", directory / "sweep", "--frames", "496",
                    "--detector", "1248x960", "--pitch-mm", "0.308", "--photons", "20000", "--electronic-counts", "8",
                    "--seed", str(seed), "--matrices", directory / "true.csv", "--overwrite"], check=True)
    begin = time.monotonic()
    subprocess.run([ISOCENTER, "calibrate", "geometry", "--sweep", directory / "sweep", "--beads", "helix",
                    "--matrices", directory / "fitted.csv", "--overwrite", "--json", directory / "report.json",
                    "--picture", directory / "picture.png"], check=True)
    print(f"{time.monotonic() - begin:.1f} s")
    compare(read(directory / "fitted.csv"), read(directory / "true.csv"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", help="fitted and true matrices")
    parser.add_argument("--simulate", type=pathlib.Path, metavar="DIRECTORY")
    parser.add_argument("--seed", type=int, default=21)
    options = parser.parse_args()
    if options.simulate:
        simulate(options.simulate, options.seed)
    elif len(options.tables) == 2:
        compare(read(options.tables[0]), read(options.tables[1]))
    else:
        parser.error("two tables, or --simulate")


if __name__ == "__main__":
    main()
