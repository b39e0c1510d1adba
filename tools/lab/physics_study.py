#!/usr/bin/env python3
"""What corrections leave of beam hardening and scatter in images. Run it as ./dev bench physics.

Water cylinders by tube voltage, then a head, an abdomen and a thorax with Monte Carlo scatter: by kernels, and
computed from a first volume. Sets are measured on cylinders and other seeds, abdomen and thorax are nothing that a
set was measured on. ./dev bench physics scatter does the latter part alone, ./dev bench physics head all of the physics at once.
"""

import array
import math
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lab import head_study, isocenter, meta_image  # noqa: E402

FOLDER = pathlib.Path(".physics-study").resolve()
ARM = ("--trajectory", "circle", "--detector", "700x400", "--pitch-mm", 0.77)
STATION = ("--station", "study", "--detector-mode", "full")
SIZE, VOXEL_MM = 128, 2.5
GRID = ("--grid", f"{SIZE}x{SIZE}x33", "--voxel-mm", VOXEL_MM)
FRAMES = 180
TUBE = (
    "tube {{ kv: {kv} aluminium_mm: 2.5 copper_mm: 0.1 }} {scatter} "
    "detector {{ signal_counts: 60000 photons: {photons} }}"
)
SCATTER = "scatter { views: 12 }"
# Half axes, centre and HU; later ones lie over earlier ones. Spine, liver, two vessels.
ABDOMEN = (
    ((150, 105), (0, 0), 0),
    ((22, 20), (0, 70), 600),
    ((55, 45), (-70, -20), 60),
    ((12, 12), (20, 25), 150),
    ((60, 8), (40, -75), -100),
)
# Lungs, heart, spine.
THORAX = (
    ((155, 105), (0, 0), 0),
    ((55, 75), (-75, -5), -750),
    ((50, 70), (80, -5), -750),
    ((42, 38), (10, -30), 40),
    ((20, 18), (0, 75), 500),
)


def say(text):
    print(text, flush=True)


def write_volume(path, voxel_mm, shape, hu_at):
    """A .mha of int16 whose middle is the isocentre; `hu_at(x, y)` in mm."""
    nx, ny, nz = shape
    left, front = (-(n - 1) / 2 * voxel_mm for n in (nx, ny))
    plane = array.array(
        "h",
        (
            int(hu_at(left + i * voxel_mm, front + j * voxel_mm))
            for j in range(ny)
            for i in range(nx)
        ),
    )
    path.write_bytes(meta_image.header(shape, (voxel_mm,) * 3, "LOCAL").encode() + plane.tobytes() * nz)
    return path


def of_ellipses(ellipses):
    def hu_at(x, y):
        hu = -1000
        for (a, b), (cx, cy), value in ellipses:
            if ((x - cx) / a) ** 2 + ((y - cy) / b) ** 2 <= 1:
                hu = value
        return hu

    return hu_at


def middle_slices(path):
    """HU of the middle nine slices of a volume that reconstruct wrote, with x and y in mm."""
    raw = path.read_bytes()
    values = array.array("f")
    values.frombytes(raw[-4 * SIZE * SIZE * 33 :])
    middle = (SIZE - 1) / 2
    for k in range(12, 21):
        for j in range(SIZE):
            for i in range(SIZE):
                yield (i - middle) * VOXEL_MM, (j - middle) * VOXEL_MM, values[(k * SIZE + j) * SIZE + i]


def mean(path, wanted):
    values = [hu for x, y, hu in middle_slices(path) if wanted(x, y)]
    return sum(values) / len(values)


def physics(name, kv, scatter, photons):
    path = FOLDER / f"{name}.textproto"
    path.write_text(TUBE.format(kv=kv, scatter=scatter, photons=photons))
    return path


def simulate(name, file, seed, *what):
    bundle = FOLDER / name
    shutil.rmtree(bundle, ignore_errors=True)
    isocenter.must("simulate", "--out", bundle, "--physics", file, "--seed", seed, *ARM, *STATION, *what)
    return bundle


def cylinder(diameter_mm):
    return ("--phantom", "cylinder", "--scale-mm", diameter_mm / 2)


def ellipse(width_mm, depth_mm):
    """A volume of water."""
    path = FOLDER / f"ellipse-{width_mm}x{depth_mm}.mha"

    def hu_at(x, y):
        return 0 if math.hypot(2 * x / width_mm, 2 * y / depth_mm) <= 1 else -1000

    return ("--volume", write_volume(path, 2, (160, 120, 60), hu_at))


def reconstruct(bundle, name, *flags):
    volume = FOLDER / f"{name}.mha"
    isocenter.must("reconstruct", bundle, "--out", volume, "--overwrite", "--window", "hann", *GRID, *flags)
    return volume


def measure_set(name, kv, diameters_mm):
    """A set of dark, flat and water with noise, without scatter."""
    quiet = physics(f"{name}-narrow", kv, "", 100000)
    sweeps = [simulate(f"{name}-{sweep}", quiet, 3, "--sweep", sweep, "--frames", 40) for sweep in ("dark", "flat")]
    out = FOLDER / f"{name}.isocal"
    flags = ("--station", "study", "--mode", "full", "--kv", kv, "--valid-days", 1, "--out", out, "--overwrite")
    isocenter.must("calibrate", "detector", "--dark", sweeps[0], "--flat", sweeps[1], *flags)
    scans = [
        flag
        for mm in diameters_mm
        for flag in ("--scan", simulate(f"{name}-{mm}", quiet, 5, *cylinder(mm), "--frames", 24), "--diameter-mm", mm)
    ]
    isocenter.must("calibrate", "beam-hardening", *scans, "--into", out)
    return out


def measure_scatter(name, kv, known, objects):
    """`known` with kernels fitted to these objects' scatter."""
    out = FOLDER / f"{name}.isocal"
    wide, narrow = physics(f"{name}-wide", kv, SCATTER, 100000), physics(f"{name}-narrow", kv, "", 100000)
    pairs = []
    for number, what in enumerate(objects):
        for flag, file in (("--with", wide), ("--without", narrow)):
            pairs += [flag, simulate(f"{name}{flag}-{number}", file, 7, *what, "--frames", 24)]
    say(name)
    say(isocenter.must("calibrate", "scatter", *pairs, "--into", known, "--out", out, "--overwrite"))
    return out


def cupping(volume, radius_mm):
    middle = mean(volume, lambda x, y: math.hypot(x, y) < 0.3 * radius_mm)
    edge = mean(volume, lambda x, y: 0.8 * radius_mm < math.hypot(x, y) < 0.9 * radius_mm)
    return middle, middle - edge


def water_by_voltage():
    say("200 mm of water   before: middle, middle - edge    after: middle, middle - edge   (HU)")
    for kv in (70, 90, 120):
        known = measure_set(f"water-{kv}", kv, (200, 240))
        file = physics(f"water-{kv}", kv, "", 0)
        scan = simulate(f"water-{kv}-scan", file, 11, *cylinder(200), "--frames", FRAMES)
        before = cupping(reconstruct(scan, f"water-{kv}-before"), 100)
        after = cupping(reconstruct(scan, f"water-{kv}-after", "--calibration", known), 100)
        say(f"  {kv:3} kV            {before[0]:8.1f} {before[1]:8.1f}               {after[0]:8.1f} {after[1]:8.1f}")


REGIONS = {
    "head": {
        "middle": lambda x, y: math.hypot(x, y) < 20,
        "front": lambda x, y: math.hypot(x, y + 45) < 12,
        "back": lambda x, y: math.hypot(x, y - 45) < 12,
        "left": lambda x, y: math.hypot(x - 40, y) < 12,
        "right": lambda x, y: math.hypot(x + 40, y) < 12,
    },
    "abdomen": {
        "middle": lambda x, y: math.hypot(x, y + 10) < 12,
        "liver": lambda x, y: math.hypot(x + 70, y + 20) < 25,
        "left": lambda x, y: math.hypot(x - 90, y) < 20,
        "far right": lambda x, y: math.hypot(x + 110, y - 40) < 15,
        "beside the spine": lambda x, y: math.hypot(x - 45, y - 65) < 12,
    },
    "thorax": {
        "heart": lambda x, y: math.hypot(x - 10, y + 30) < 20,
        "before the spine": lambda x, y: math.hypot(x, y - 40) < 10,
        "front": lambda x, y: math.hypot(x, y + 85) < 10,
        "back left": lambda x, y: math.hypot(x + 45, y - 82) < 7,
        "back right": lambda x, y: math.hypot(x - 50, y - 80) < 7,
    },
}


def measure_model(name, kv, known, what):
    """`known` with the scale of computed scatter, of a whole scan of this object."""
    out = FOLDER / f"{name}.isocal"
    wide, narrow = physics(f"{name}-wide", kv, SCATTER, 100000), physics(f"{name}-narrow", kv, "", 100000)
    pair = []
    for flag, file in (("--with", wide), ("--without", narrow)):
        pair += [flag, simulate(f"{name}{flag}", file, 7, *what, "--frames", FRAMES)]
    say(name)
    say(isocenter.must("calibrate", "scatter-model", *pair, "--into", known, "--out", out, "--overwrite"))
    return out


def scatter_in_images(kv=120):
    known = measure_set("scatter", kv, (200, 240))
    cylinders = [cylinder(mm) for mm in (200, 240, 280)]
    kernels = {
        "kernels of cylinders": measure_scatter("cylinders", kv, known, cylinders),
        "and of an ellipse": measure_scatter("ellipse", kv, known, [*cylinders, ellipse(280, 190)]),
    }
    model = measure_model("model", kv, known, cylinder(240))
    abdomen = write_volume(FOLDER / "abdomen.mha", 2, (160, 112, 50), of_ellipses(ABDOMEN))
    thorax = write_volume(FOLDER / "thorax.mha", 2, (160, 112, 120), of_ellipses(THORAX))
    objects = {
        "head": ("head", 0, ("--phantom", "head")),
        "abdomen": ("abdomen", 0, ("--volume", abdomen)),
        "abdomen with noise": ("abdomen", 50000, ("--volume", abdomen)),
        "thorax": ("thorax", 0, ("--volume", thorax)),
    }
    for title, (name, photons, what) in objects.items():
        key = title.replace(" ", "-")
        wide, narrow = physics(f"{key}-wide", kv, SCATTER, photons), physics(f"{key}-narrow", kv, "", 0)
        scan = simulate(f"{key}-wide", wide, 13, *what, "--frames", FRAMES)
        primary = simulate(f"{key}-narrow", narrow, 13, *what, "--frames", FRAMES)
        volumes = {
            "without correction": reconstruct(scan, f"{key}-before", "--calibration", known),
            **{
                kind: reconstruct(scan, f"{key}-{path.stem}", "--calibration", path)
                for kind, path in kernels.items()
            },
            "computed": reconstruct(scan, f"{key}-computed", "--calibration", model, "--scatter"),
        }
        primary_alone = reconstruct(primary, f"{key}-primary", "--calibration", known)
        say(f"{title}, {kv} kV, no grid: HU against the scan without scatter and noise")
        reference = {region: mean(primary_alone, at) for region, at in REGIONS[name].items()}
        for kind, volume in volumes.items():
            errors = {region: mean(volume, at) - reference[region] for region, at in REGIONS[name].items()}
            average = sum(errors.values()) / len(errors)
            spread = max(errors.values()) - min(errors.values())
            parts = ", ".join(f"{region} {error:.0f}" for region, error in errors.items())
            say(f"  {kind:20} mean {average:7.1f}, range {spread:6.1f}   ({parts})")


def main():
    FOLDER.mkdir(exist_ok=True)
    if "head" in sys.argv[1:]:
        head_study.run(FOLDER / "head", say)
        return 0
    if "scatter" not in sys.argv[1:]:
        water_by_voltage()
    scatter_in_images()
    return 0


if __name__ == "__main__":
    sys.exit(main())
