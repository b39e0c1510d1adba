#!/usr/bin/env python3
"""Noise-free phantoms through the real service, against their analytic truth. Run it as ./dev bench accuracy.

usage: accuracy.py [TRAJECTORY.csv]
With a measured trajectory for 1240x960 pixels of 0.308 mm, its cases are added.
"""

import contextlib
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lab import isocenter, process  # noqa: E402

FOLDER = pathlib.Path(".accuracy").resolve()
GRID = ("--grid", "256x256x256", "--voxel-mm", 1)
WIDE = ("--detector", "624x480", "--pitch-mm", 0.64, "--frames", 496, "--trajectory", "circle")
HEAD_SCALE = ("--scale-mm", 128)


def cases(csv):
    yield "200 degrees", (*WIDE, "--arc-deg", 200)
    yield "360 degrees", WIDE
    yield "360 degrees, displaced", (*WIDE, "--displace-px", 156)
    if csv:
        yield "measured arm", ("--trajectory", csv, "--binning", 2, "--detector", "620x480", "--pitch-mm", 0.616)


def reconstruct(service, bundle, volume):
    summary = isocenter.json_of(
        "stream", bundle, "--server", service.grpc, "--protocol", "fdk", *GRID, seconds=3600
    )
    isocenter.must("fetch", summary["job_id"], "--server", service.grpc, "--format", "mha", "--out", volume, "--overwrite")


def simulate(phantom, arguments, bundle):
    isocenter.must(
        *("simulate", "--phantom", phantom, "--pixel", "line-integrals", "--out", bundle),
        *HEAD_SCALE,
        *arguments,
        seconds=600,
    )


def row(name, figures):
    regions = (figures["regions"][region] for region in ("central_slab", "sphere_30_mm", "sphere_60_mm"))
    cells = "".join(f"{r['rmse_hu']:10.3f} {r['bias_hu']:7.3f}" for r in regions)
    print(f"{name:<28}{cells}", flush=True)


def accuracy(stack, csv):
    shutil.rmtree(FOLDER, ignore_errors=True)
    service = isocenter.Service(FOLDER / "service", flags=["--no_dicom"])
    stack.callback(service.stop)
    service.start()
    bundle, volume = FOLDER / "bundle", FOLDER / "volume.mha"
    print("RMSE and bias in HU against the analytic truth, 256^3 voxels of 1 mm, protocol fdk")
    print(f"{'':<28}{'central slab':>18}{'sphere 30 mm':>18}{'sphere 60 mm':>18}")
    for phantom in ("shepp-logan", "head"):
        for name, arguments in cases(csv):
            shutil.rmtree(bundle, ignore_errors=True)
            simulate(phantom, arguments, bundle)
            reconstruct(service, bundle, volume)
            row(f"{phantom}, {name}", isocenter.json_of("compare", volume, "--phantom", phantom, "--subsamples", 1, *HEAD_SCALE))
    service.terminate()

    # The last bundle's geometry with fewer frames: float64 on one thread takes its time.
    shutil.rmtree(bundle, ignore_errors=True)
    simulate("head", ("--frames", 62), bundle)
    volumes = {}
    for backend in ("cpu", "reference"):
        checked = isocenter.Service(FOLDER / backend, flags=["--no_dicom", "--backend", backend])
        stack.callback(checked.stop)
        checked.start()
        volumes[backend] = FOLDER / f"{backend}.mha"
        reconstruct(checked, bundle, volumes[backend])
        checked.terminate()
    print("\ncpu against reference, head, 62 frames of a wobbling arm:")
    row("", isocenter.json_of("compare", volumes["cpu"], "--truth", volumes["reference"]))


if __name__ == "__main__":
    try:
        with contextlib.ExitStack() as stack:
            accuracy(stack, sys.argv[1] if len(sys.argv) > 1 else None)
    except process.LabError as error:
        sys.exit(f"accuracy: {error}")
