"""All of the physics at once in a head: how far brain is off, and what is left of the ventricles' contrast.

Raw counts with offsets, gains, defects, lag, flicker, scatter, a heel and noise, corrected by a set that is measured in the same
room on dark, flat, switched frames, two cylinders and, with and without scatter, a bottle of water. Run it as ./dev bench physics head.
"""

import array
import math
import shutil

from lab import isocenter, room

SCALE_MM = 95  # of the phantom head: half axes 0.76, 0.9, 0.98 of it
GEOMETRY = ("--detector", "310x240", "--pitch-mm", 1.232)
FRAMES = 180
# Between 8 views, what is planted is interpolated over 29 degrees: the ventricles' contrast came out 3 HU off by that alone.
SCATTER_VIEWS = 24
PHOTONS = 1_600_000  # per pixel, as many per mm² as the 400,000 of README's picture with pixels of 0.616 mm
SIZE, SLICES, VOXEL_MM = 128, 64, 1.5
BRAIN_HU, VENTRICLE_HU = 35, 8
# Shares of SCALE_MM: between these planes there is nothing but skull, brain and the lateral ventricles.
PLANES = (0.23, 0.33)


def in_ellipse(x, y, half_axes, turn_deg=0.0):
    c, s = math.cos(math.radians(turn_deg)), math.sin(math.radians(turn_deg))
    return math.hypot((c * x + s * y) / half_axes[0], (c * y - s * x) / half_axes[1]) <= 1


def of_ventricles(x, y, share):
    """Whether a place is within so much of the lateral ventricles' half axes in their middle plane."""
    axes = (0.07 * share, 0.3 * share)
    return in_ellipse(x - 0.13, y, axes, -12) or in_ellipse(x + 0.13, y, axes, 12)


REGIONS = {
    "brain": lambda x, y: in_ellipse(x, y, (0.5, 0.6)) and not of_ventricles(x, y, 1.4),
    "middle": lambda x, y: math.hypot(x, y) < 0.25 and not of_ventricles(x, y, 1.4),
    "ring": lambda x, y: in_ellipse(x, y, (0.55, 0.68)) and not in_ellipse(x, y, (0.45, 0.56)),
    "ventricles": lambda x, y: of_ventricles(x, y, 0.6),
}


def means(path):
    """HU of each region."""
    values = array.array("f")
    values.frombytes(path.read_bytes()[-4 * SIZE * SIZE * SLICES :])
    place = [(i - (SIZE - 1) / 2) * VOXEL_MM / SCALE_MM for i in range(SIZE)]
    slices = [k for k in range(SLICES) if PLANES[0] < (k - (SLICES - 1) / 2) * VOXEL_MM / SCALE_MM < PLANES[1]]
    found = {}
    for name, within in REGIONS.items():
        plane = [j * SIZE + i for j in range(SIZE) for i in range(SIZE) if within(place[i], place[j])]
        found[name] = sum(values[k * SIZE * SIZE + at] for k in slices for at in plane) / (len(plane) * len(slices))
    return found


def report(say, folder, title, scan, *flags):
    volume = folder / "volume.mha"
    grid = ("--grid", f"{SIZE}x{SIZE}x{SLICES}", "--voxel-mm", VOXEL_MM)
    isocenter.must("reconstruct", scan, "--out", volume, "--overwrite", "--window", "hann", "--cutoff", 0.8, *grid, *flags)
    hu = means(volume)
    true = VENTRICLE_HU - BRAIN_HU
    beside, of_all = (hu["ventricles"] - hu[name] - true for name in ("middle", "brain"))
    say(f"  {title:22} {hu['brain'] - BRAIN_HU:9.1f} {beside:18.1f} {of_all:18.1f} {hu['middle'] - hu['ring']:18.1f}")


def run(folder, say, seed=3):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    head = ("--phantom", "head", "--scale-mm", SCALE_MM, "--frames", FRAMES)
    say("                          of brain   ventricles - brain   ventricles - brain   brain in the middle -")
    say("head: off by, HU                       beside them           everywhere          in a ring around")
    # One energy and nothing else: what the arm's arc and the voxels leave.
    ideal = folder / "ideal"
    isocenter.must("simulate", "--out", ideal, "--pixel", "line-integrals", *GEOMETRY, *head)
    report(say, folder, "line integrals", ideal)
    noisy = room.Room(folder, GEOMETRY, PHOTONS, seed, SCATTER_VIEWS)
    noisy.measure(bottle=True)
    # The room's detector again, without quantum noise; no more is different.
    quiet = room.Room(folder / "quiet", GEOMETRY, 0, seed, SCATTER_VIEWS)
    for title, scan in {
        "with noise": noisy.simulate("head", *head),
        "without": quiet.simulate("head", *head),
    }.items():
        report(say, folder, f"{title}, raw", scan)
        report(say, folder, f"{title}, corrected", scan, "--calibration", noisy.set)
