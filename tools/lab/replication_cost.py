#!/usr/bin/env python3
"""What copies on a second node cost: acknowledgements and rate of a node alone, and of one whose frames a second node keeps, in turn.

ISOCENTER_BIN=build/release/bin python3 tools/lab/replication_cost.py --rooms 8 --fps 10; all on loopback, without TLS.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lab import isocenter, process  # noqa: E402


def cluster(name, replication, more=""):
    return f'cluster {{ node_name: "{name}" node: "recon1" node: "recon2" {replication} }}\nlimits {{ max_active_jobs: 64 }}\n{more}'


def on(options, first, last):
    """A command's beginning that keeps it on these processors."""
    return ("taskset", "--cpu-list", f"{first}-{last}") if options.apart else ()


def measure(folder, is_replicated, options):
    """What isocenter-bench says of one run."""
    keeper = isocenter.Service(
        folder / "recon2", config=cluster("recon2", 'replication { origin { node: "recon1" } }'), wrapper=on(options, 2, 3)
    )
    keeper.start()
    replication = f'replication {{ keeper {{ node: "recon2" address: "{keeper.grpc}" }} }}' if is_replicated else ""
    sync = "spool { sync: SYNC_POLICY_REPLICATED }" if is_replicated else ""
    node = isocenter.Service(folder / "recon1", config=cluster("recon1", replication, sync), wrapper=on(options, 0, 1)).start()
    try:
        figures = folder / "figures.json"
        done = process.run(
            [
                *on(options, 4, os.cpu_count() - 1),
                *(options.bench or isocenter.binary("isocenter-bench"), "rooms", "--server", node.grpc, "--rooms", options.rooms, "--fps", options.fps),
                *("--columns", options.columns, "--rows", options.rows, "--frames", options.frames, "--grid", 64),
                *("--wait-results", "no", "--json", figures),
            ],
            600,
        )
        if done.returncode != 0:
            raise process.LabError(done.stdout + done.stderr)
        if is_replicated and "kind=replica_lost" in node.process.output():
            print("  the keeper was not waited for all the time", flush=True)
        return json.loads(figures.read_text())
    finally:
        node.stop()
        keeper.stop()


def told(figures):
    live = figures["classes"]["live"]
    late = {name: 1000 * live["acknowledge_seconds"][name] for name in ("p50", "p99", "max")}
    return (
        f"{live['frames_per_second']:.0f} frames/s, {live['megabytes_per_second']:.0f} MB/s, {live['frames_lost']} lost, "
        f"acknowledged after {late['p50']:.1f} ms (median), {late['p99']:.1f} (p99), {late['max']:.1f} (largest)"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", help="the program isocenter-bench, where it is not beside the others")
    parser.add_argument("--rooms", type=int, default=8)
    parser.add_argument("--fps", type=float, default=10, help="0: as fast as the node takes")
    parser.add_argument("--columns", type=int, default=620)
    parser.add_argument("--rows", type=int, default=480)
    parser.add_argument("--frames", type=int, default=100)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--apart", action="store_true", help="two processors for each node, the others for the consoles")
    options = parser.parse_args()
    for turn in range(options.turns):
        for is_replicated in (False, True):
            with tempfile.TemporaryDirectory(prefix="isocenter-cost-") as folder:
                figures = measure(pathlib.Path(folder), is_replicated, options)
            print("replicated" if is_replicated else "interval  ", told(figures), flush=True)


if __name__ == "__main__":
    main()
