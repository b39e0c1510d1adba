"""Nodes that die, hang, die together or come back in mid-scan, at random moments: the volume comes, the same in every bit, as one series.

A campaign: `./dev test --fault -R node_death`; ISOCENTER_NODE_DEATHS (100) says how many, ISOCENTER_FAULT_SEED repeats the draws.
What it prints: per fault, how long the next node's first frame took, and the volume after the last frame.
"""

import collections
import json
import os
import random
import re
import signal
import statistics
import time
import urllib.request

import cluster
import support
from cluster import NODES
from lab import process

DEATHS = int(os.environ.get("ISOCENTER_NODE_DEATHS", "100"))
SEED = int(os.environ.get("ISOCENTER_FAULT_SEED", random.SystemRandom().randrange(2**32)))
FRAMES, FPS = 100, 50
# From the first frame until after the result of an undisturbed scan.
SCAN_SECONDS = FRAMES / FPS + 0.4
PROTOCOL = ("--protocol", "fdk_then_ossart")
# Killed; stopped until the scan has ended, or until another node has a frame of it; all killed at once, and started again.
FAULTS = ("kill", "hang", "partition", "both")
# A half job waits this long for its console, then ends by itself.
LIMITS = "limits { reconnect_seconds: 3 }"


class NodeDeathTest(cluster.ClusterTest):
    def received(self, node):
        """How many frames a node has taken over since it was started; none while it is away."""
        try:
            with urllib.request.urlopen(f"http://{self.nodes[node].metrics}/metrics", timeout=1) as answer:
                text = answer.read().decode()
        except OSError:
            return 0
        found = re.search(r"^isocenter_received_frames_total (\S+)", text, re.MULTILINE)
        return int(float(found[1])) if found else 0

    def wait_for_frames(self, before):
        """The node that takes the scan."""

        def node():
            return next((name for name in NODES if self.received(name) > before[name]), None)

        return process.wait_until(node, 60, "a node that takes frames")

    def strike(self, fault, node):
        """What happens to a node, or to both; how to end it."""
        struck = NODES if fault == "both" else (node,)
        stops = fault in ("hang", "partition")
        for name in struck:
            if stops:
                self.nodes[name].process.signal(signal.SIGSTOP)
            else:
                self.nodes[name].kill()

        def end():
            for name in struck:
                if stops:
                    self.nodes[name].process.signal(signal.SIGCONT)
                else:
                    self.nodes[name].start()
            for name in struck:
                self.wait_for_the_return_of(name)

        return end

    def first_frame_elsewhere(self, console, node, since):
        """Seconds until another node has a frame; None where the scan needed none."""
        other = next(name for name in NODES if name != node)
        before = self.received(other)
        while console.exit_code() is None:
            if self.received(other) > before:
                return time.monotonic() - since
            time.sleep(0.01)
        return None

    def jobs(self, node):
        done = self.call("jobs", "--node", node, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def settled(self, job):
        """{node: its jobs that are this job and its refinement}, when none of them goes on."""

        def found():
            held = {node: [j for j in self.jobs(node) if j["job_id"] in (job, f"{job}-ref")] for node in NODES}
            ended = all(j["state"] in ("completed", "failed", "cancelled") for jobs in held.values() for j in jobs)
            refined = any(j["job_id"] != job and j["state"] == "completed" for jobs in held.values() for j in jobs)
            return held if ended and refined else None

        return process.wait_until(found, 120, f"the end of job {job} and of its refinement everywhere")

    def check(self, job, reference):
        """One series of the scan and one of its refinement, whichever nodes have them; the volume is the reference."""
        series = collections.defaultdict(set)
        for node, jobs in self.settled(job).items():
            for found in jobs:
                if found["state"] == "completed":
                    name = found["job_id"]
                    series[name].add(found["result"]["series_instance_uid"])
                    if self.volume(name, node) != reference[name != job]:
                        self.fail(f"job {name} at {node} has another volume: {self.told(node, name)}")
        self.assertEqual({name: len(uids) for name, uids in series.items()}, {job: 1, f"{job}-ref": 1})

    def told(self, node, job):
        """What the nodes say of a job whose volume is not as it should be."""
        lines = [json.dumps(found) for where in NODES for found in self.jobs(where) if found["job_id"].startswith(job[:24])]
        log = [line for line in self.nodes[node].process.output().splitlines() if job[:24] in line]
        return "\n".join([*lines, *log])

    def one_death(self, number, draws, reference):
        fault = draws.choices(FAULTS, (6, 2, 1, 1))[0]
        moment = draws.uniform(0, SCAN_SECONDS)
        name = f"{number}-{fault}-{moment:.2f}"
        print(name, flush=True)
        before = {node: self.received(node) for node in NODES}
        console = self.console(name, FPS, *PROTOCOL)
        node = self.wait_for_frames(before)
        time.sleep(moment)
        struck = time.monotonic()
        end = self.strike(fault, node)
        if fault == "both":
            end()
            waited = None
        else:
            waited = self.first_frame_elsewhere(console, node, struck)
        if fault == "partition":
            end()  # it finds its half of the scan, which goes on elsewhere
        summary = self.summary(console, name)
        ended = time.monotonic() - struck
        if fault in ("kill", "hang"):
            end()
        self.assertEqual(summary["frames"], FRAMES)
        self.check(summary["job_id"], reference)
        moved = "moved" if summary["node"] != node else "stayed"
        after = f"{waited:.2f} s to the first frame" if waited is not None else ""
        print(f"{name}: {moved} {after}, result {ended:.2f} s after it", flush=True)
        return fault, waited

    def test_nodes_die_at_random_moments(self):
        print(f"seed: ISOCENTER_FAULT_SEED={SEED}", flush=True)
        self.start(limits=LIMITS)
        self.summary(self.console("whole", 0, *PROTOCOL), "whole")
        whole = support.read_json(self.path("whole.json"))
        job, node = whole["job_id"], whole["node"]
        self.settled(job)
        reference = [self.volume(job, node), self.volume(f"{job}-ref", node)]
        self.assertNotEqual(*reference)
        draws = random.Random(SEED)
        waits = collections.defaultdict(list)
        for number in range(DEATHS):
            with self.subTest(number=number):
                try:
                    fault, waited = self.one_death(number, draws, reference)
                except Exception as error:
                    print(f"{number}: {str(error)[:20000]}", flush=True)  # the campaign is long
                    raise
                if waited is not None:
                    waits[fault].append(waited)
        for fault, seconds in waits.items():
            print(
                f"{fault}: first frame at the next node after {statistics.median(seconds):.2f} s (median), "
                f"{max(seconds):.2f} s (most), of {len(seconds)}"
            )


if __name__ == "__main__":
    support.main()
