#!/usr/bin/env python3
"""How fast the Python package streams beside `isocenter stream`: python_rate.py BUNDLE [ROUNDS]. One service, one after the other.

Both times are of the service: from the first frame to the last one that it received.
"""

import pathlib
import statistics
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/python")]

from lab import isocenter as lab  # noqa: E402
from package import Scan, isocenter  # noqa: E402


def seconds_of_python(client, scan):
    """Of one scan."""
    acquisition = scan.acquisition(grid=isocenter.Grid.cube(16, 8.0))
    with client.stream(acquisition) as stream:
        stream.send_all(scan.frames)
        return stream.finish().timings.acquisition_seconds


def seconds_of_the_program(client, scan, address):
    """Of one scan."""
    job = lab.json_of("stream", scan.folder, "--server", address, "--grid", "16x16x16", "--voxel-mm", "8")["job_id"]
    return client.job(job).status().result.timings.acquisition_seconds


def main():
    scan, rounds = Scan(pathlib.Path(sys.argv[1])), int(sys.argv[2]) if len(sys.argv) > 2 else 8
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        service = lab.Service(folder).start()
        try:
            client = isocenter.connect(service.grpc)
            for _ in range(rounds):
                ours.append(seconds_of_python(client, scan))
                theirs.append(seconds_of_the_program(client, scan, service.grpc))
                print(f"python {ours[-1]:.2f} s, isocenter stream {theirs[-1]:.2f} s", flush=True)
        finally:
            service.stop()
    size = scan.frames.nbytes / 1e6
    for name, seconds in (("python", ours), ("isocenter stream", theirs)):
        print(f"{name}: median {size / statistics.median(seconds):.0f} MB/s, best {size / min(seconds):.0f} MB/s")
    print(f"ratio of the medians: {statistics.median(theirs) / statistics.median(ours):.2f}")


if __name__ == "__main__":
    main()
