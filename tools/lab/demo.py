#!/usr/bin/env python3
"""The whole main job on one machine: scan, stream, reconstruct, archive, find and pull. Run it as ./dev demo."""

import contextlib
import hashlib
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lab import cranium, isocenter, orthanc, process, room  # noqa: E402

FOLDER = pathlib.Path(".demo").resolve()
FRAMES = 248
FPS = 30
VOXEL_MM = 0.9
FIELD_OF_VIEW_RADIUS_MM = 115
ARM = ("--trajectory", "carm", "--detector", "496x384", "--pitch-mm", 0.77)
PHOTONS, SEED = 400000, 2012
SCAN = (
    *("--frames", FRAMES, "--patient-name", "Demo^Cranium", "--patient-id", "DEMO-0051", "--accession", "DEMO2012"),
    *("--study-description", "C-arm CT head"),
)
TRUTH = ("--truth-size", 256, "--truth-voxel-mm", VOXEL_MM)
GRID = ("--grid", "256x256x256", "--voxel-mm", VOXEL_MM)
PROTOCOL = """
protocol {
  name: "head_corrected"
  description: "Soft tissue of the head, from raw counts."
  filter_window: FILTER_WINDOW_HANN
  filter_cutoff: 0.8
  corrections { calibration: CALIBRATION_POLICY_REQUIRE }
}
"""


def say(text):
    print(text, flush=True)


@contextlib.contextmanager
def step(title):
    began = time.monotonic()
    say(f"* {title}")
    yield
    say(f"    {time.monotonic() - began:.1f} s")


def run_visibly(*arguments):
    """isocenter ARGUMENTS.. with its progress bar on the terminal."""
    if not sys.stderr.isatty():
        return isocenter.must(*arguments, seconds=600)
    done = subprocess.run(
        [str(a) for a in (isocenter.binary("isocenter"), *arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        timeout=600,
        check=False,
    )
    if done.returncode != 0:
        raise process.LabError(f"isocenter {arguments[0]} ended with exit code {done.returncode}; its message is above")
    return ""


def simulate():
    """The raw scan, the calibration set of its room, and the truth.

    Kept between runs as long as what they are made with stays the same.
    """
    truth, stamp = FOLDER / "truth.mha", FOLDER / "simulation.sha256"
    theatre = room.Room(FOLDER / "room", ARM, PHOTONS, SEED)
    recipe = hashlib.sha256(isocenter.binary("isocenter").read_bytes())
    for module in (cranium, room):
        recipe.update(pathlib.Path(module.__file__).read_bytes())
    recipe.update(repr((ARM, PHOTONS, SEED, SCAN, TRUTH, FIELD_OF_VIEW_RADIUS_MM)).encode())
    if stamp.exists() and stamp.read_text() == recipe.hexdigest():
        say("* The simulated scan of the last run is used again (remove .demo for a new one)")
        return theatre.folder / "scan", theatre.set, truth
    stamp.unlink(missing_ok=True)
    with step("Calibrating a room: sweeps without and with X-rays, cylinders of water"):
        theatre.measure()
    with step("Unpacking the head CT of Debian's invesalius-examples"):
        head = cranium.write_meta_image(FOLDER, FIELD_OF_VIEW_RADIUS_MM)
    with step(f"Scanning it: {FRAMES} raw frames of 496x384 through a wobbling C-arm, scatter by Monte Carlo"):
        bundle = theatre.simulate("scan", "--volume", head, *SCAN, "--truth", truth, *TRUTH, run=run_visibly)
    stamp.write_text(recipe.hexdigest())
    return bundle, theatre.set, truth


def find_and_pull(pacs, result):
    query, answers = pacs.find_studies(PatientID="DEMO-0051", StudyInstanceUID=result["study_instance_uid"])
    if len(answers) != 1:
        raise process.LabError(f"the PACS found {len(answers)} studies, wanted 1; see {pacs.folder}/orthanc.log")
    pacs.retrieve(query)
    pulled = pacs.instance_count()
    if pulled != result["instance_count"]:
        raise process.LabError(f"the PACS pulled {pulled} instances of {result['instance_count']}")
    return pulled


def rmse_rows(figures):
    return [
        (
            f"{what} against the CT, {region.replace('_', ' ')}",
            " ".join(f"{figures[name]['regions'][region][key]:.1f} HU {name}" for name in figures),
        )
        for what, key in (("RMSE", "rmse_hu"), ("mean error", "bias_hu"))
        for region in ("central_slab", "sphere_60_mm")
    ]


def table(rows):
    width = max(len(name) for name, _ in rows)
    say("")
    for name, value in rows:
        say(f"  {name:<{width}}  {value}")
    say("")


def demo(stack):
    bundle, calibration, truth = simulate()
    # Every run starts with an empty archive and an empty PACS.
    for name in ("service", "orthanc"):
        shutil.rmtree(FOLDER / name, ignore_errors=True)
    pacs_port = process.free_port()
    with step("Starting isocenterd and Orthanc on loopback"):
        service = isocenter.Service(
            FOLDER / "service", peers=[(orthanc.AE_TITLE, pacs_port)], config=PROTOCOL
        )
        stack.callback(service.stop)
        service.start()
        pacs = orthanc.Orthanc(FOLDER / "orthanc", service.dicom_port, pacs_port)
        stack.callback(pacs.stop)
        pacs.start()
    isocenter.must("calibrations", "add", calibration, "--server", service.grpc)
    summary = FOLDER / "result.json"
    with step(f"Streaming at {FPS} frames per second; they are corrected and the volume grows meanwhile"):
        run_visibly(
            *("stream", bundle, "--server", service.grpc, "--fps", FPS, "--protocol", "head_corrected"),
            *(*GRID, "--json", summary),
        )
    result = json.loads(summary.read_text())
    with step("The PACS finds the study (C-FIND) and pulls it (C-MOVE)"):
        pulled = find_and_pull(pacs, result)
    volume, raw, sheet = (FOLDER / name for name in ("corrected.mha", "uncorrected.mha", "contact-sheet.png"))
    with step("Comparing with the CT that was scanned, and with the same frames uncorrected"):
        isocenter.must(
            "fetch", result["job_id"], "--server", service.grpc, "--format", "mha", "--out", volume, "--overwrite"
        )
        isocenter.must("reconstruct", bundle, "--out", raw, "--overwrite", *GRID, "--window", "hann", "--cutoff", 0.8)
        figures = {
            name: isocenter.json_of("compare", path, "--truth", truth)
            for name, path in (("uncorrected", raw), ("corrected", volume))
        }
        isocenter.must(
            *("render", volume, "--before", raw, "--truth", truth, "--out", sheet),
            *("--window", "40,400", "--difference-window", "0,400"),
        )
    table(
        [
            ("frames", str(result["frames"])),
            ("back-projection", f"{result['kernel_gups']:.2f} GUPS"),
            ("whole reconstruction", f"{result['whole_gups']:.2f} GUPS"),
            ("volume complete after the last frame", f"{result['seconds_after_last_frame']:.3f} s"),
            *rmse_rows(figures),
            ("DICOM instances in the PACS", str(pulled)),
        ]
    )
    say(f"Truth, uncorrected, corrected and what is left, in three planes: {sheet}")
    if service.terminate() != 0:
        raise process.LabError(f"isocenterd did not drain well; see {service.log}")


def main():
    FOLDER.mkdir(exist_ok=True)
    # An end from outside is an ordinary exit, so that the services are stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with contextlib.ExitStack() as stack:
            demo(stack)
    except process.LabError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
