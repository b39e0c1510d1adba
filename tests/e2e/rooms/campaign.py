"""Rooms that scan behind three nodes and HAProxy while the nodes are struck: what must hold afterwards, and what it took.

The consoles are `isocenter-bench rooms`. All scans are the same, so that all volumes are.
"""

import collections
import concurrent.futures
import json
import os
import random
import statistics
import time

import cluster
from lab import confinement, isocenter, process
from rooms import faults, place, samples

ROOMS = int(os.environ.get("ISOCENTER_ROOMS", "6"))
SECONDS = float(os.environ.get("ISOCENTER_CAMPAIGN_SECONDS", "120"))
SEED = int(os.environ.get("ISOCENTER_FAULT_SEED", random.SystemRandom().randrange(2**32)))
# Of a node's control group. A third of the machine, and at least one processor.
NODE_MIB = int(os.environ.get("ISOCENTER_NODE_MIB", "4096"))
NODE_CORES = max(1, confinement.processors() // 3)
# A half job waits this long for its console, then ends by itself. Frames of what has ended go soon, so that what stays is a leak.
# Of fifty rooms two thirds may be at one node while another is away.
LIMITS = "limits { reconnect_seconds: 10 max_active_jobs: 64 } spool { retain_seconds: 2 }"
GRID = 64
FRAMES = 100
# For everything under way after the last fault, on a machine that is ten times slower for a while.
TO_SETTLE_S = 180


def milliseconds(values, scale=1e3):
    """The median, 99 % and the most."""
    ordered = sorted(values)
    if not ordered:
        return "none"
    rank = max(0, -(-99 * len(ordered) // 100) - 1)
    return f"{scale * statistics.median(ordered):.1f} (median), {scale * ordered[rank]:.1f} (p99), {scale * ordered[-1]:.1f} ms (most) of {len(ordered)}"


class RoomCampaign(cluster.ClusterTest):
    names = ("recon1", "recon2", "recon3")

    def setUp(self):
        super().setUp()
        self.places = {}
        for number, name in enumerate(self.names, 1):
            self.places[name] = place.Place(self.folder, name, number, NODE_MIB << 20, NODE_CORES)
            self.addCleanup(self.places[name].close)
        lacks = [line for place in self.places.values() for line in place.lacks]
        print("\n".join(lacks) or f"each node in a network and a control group of its own: {NODE_MIB} MiB, {NODE_CORES} processors", flush=True)

    def place(self, name):
        return self.places[name].options()

    def way_to(self, name):
        return self.places[name].way_to(self.nodes[name].grpc)

    # The rooms.

    def rooms(self, name, rooms, *options):
        """The consoles, in the background: {name}.jsonl has a line for each scan, {name}.json the figures."""
        argv = (
            *(isocenter.binary("isocenter-bench"), "rooms", "--rooms", rooms, "--frames", FRAMES, "--grid", GRID, "--same-frames"),
            *("--log", self.path(f"{name}.jsonl"), "--json", self.path(f"{name}.json"), *self.server(), *options),
        )
        return self.background(argv, name)

    def scans(self, name):
        return [json.loads(line) for line in self.path(f"{name}.jsonl").read_text().splitlines()]

    def undisturbed(self, *options):
        """A scan before anything is struck: its record, its volume, and the bytes that it left on the node's disk."""
        empty = {name: self.on_disk(name) for name in self.names}
        self.assertEqual(self.rooms("undisturbed", 1, *options).wait(240), 0)
        (scan,) = self.scans("undisturbed")
        self.settled()
        node = scan["node"]
        print(f"undisturbed: {1e3 * (scan['ended'] - scan['last_frame']):.0f} ms from the last frame to the result", flush=True)
        return scan, self.volume(scan["job_id"], node), self.on_disk(node) - empty[node]

    def on_disk(self, name):
        return samples.bytes_below(self.nodes[name].folder / "archive")

    def campaign(self, *options):
        """Faults while the rooms scan; the scans, and the faults that were."""
        struck = faults.Faults(self, self.places, SEED)
        print(f"ISOCENTER_FAULT_SEED={SEED} ISOCENTER_ROOMS={ROOMS} ISOCENTER_CAMPAIGN_SECONDS={SECONDS:g}", flush=True)
        taken = samples.Samples(self.nodes)
        taken.begin()
        try:
            consoles = self.rooms("rooms", ROOMS, *options)
            struck.run(SECONDS)
            code = consoles.wait(SECONDS + TO_SETTLE_S)
        finally:
            taken.end()
        scans = self.scans("rooms")
        failed = [scan for scan in scans if scan["outcome"] != "completed"]
        for scan in failed:
            print(f"{scan['room']} {scan['outcome']} {scan['begun']:.1f} to {scan['ended']:.1f}: {scan['error']}", flush=True)
        self.report(scans, struck.told)
        self.assertEqual((failed, code), ([], 0), consoles.output()[-3000:])
        return scans, taken

    # What it took.

    def report(self, scans, told):
        figures = json.loads(self.path("rooms.json").read_text())["classes"]["live"]
        acknowledged = figures["acknowledge_seconds"]
        outcomes = collections.Counter(scan["outcome"] for scan in scans)
        moves = sum(len(scan["moves"]) for scan in scans)
        of_kind = collections.Counter(fault.kind for fault in told)
        of_kind["two"] //= 2
        print(
            f"{sum(of_kind.values())} faults: {', '.join(f'{count} {kind}' for kind, count in sorted(of_kind.items()) if count)}\n"
            f"{len(scans)} scans: {outcomes['completed']} completed, {outcomes['refused']} refused, {outcomes['failed']} failed; "
            f"{sum(scan['frames_lost'] for scan in scans)} frames lost, {moves} moves to another node, "
            f"{sum(scan['reconnects'] for scan in scans)} reconnects\n"
            "frame to acknowledgement: " + ", ".join(f"{1e3 * acknowledged[which]:.1f} ({which})" for which in ("p50", "p99", "max")) + " ms\n"
            f"until a node had taken the scan: {milliseconds([s['accepted'] - s['begun'] for s in scans if s['accepted']])}\n"
            f"begun late: {milliseconds([s['begun'] - s['due'] for s in scans])}\n"
            f"last frame to result: {milliseconds([s['ended'] - s['last_frame'] for s in scans if s['outcome'] == 'completed'])}",
            flush=True,
        )
        for kind, waits in sorted(self.moves(scans, told).items()):
            print(f"{kind}: taken by the next node after {milliseconds([taken for taken, _ in waits])}", flush=True)
            caught_up = [new for _, new in waits if new is not None]
            print(f"{kind}: first frame there that no node had acknowledged {milliseconds(caught_up)}", flush=True)

    @staticmethod
    def moves(scans, told):
        """{kind: [(taken, new)]}, seconds from the fault, or from the scan's begin where that was later, until the next node had admitted
        the scan, which its frames follow at once, and until it had, after all that were sent again, one that no node had before"""
        waits = collections.defaultdict(list)
        for scan in scans:
            left = scan["first_node"]
            for move in scan["moves"]:
                guilty = [fault for fault in told if fault.node == left and fault.began <= move["accepted"]]
                since = max(guilty[-1].began, scan["begun"]) if guilty else scan["begun"]
                new = move["first_acknowledged"]
                waits[guilty[-1].kind if guilty else "no fault"].append((move["accepted"] - since, new and new - since))
                left = move["node"]
        return waits

    # What must hold.

    def settled(self):
        """{node: its jobs}, when none goes on and nothing is spooled."""

        def found():
            told = {name: self.call("jobs", "--node", name, "--limit", 1000000, "--json") for name in self.names}
            # A proxy that has just lost a node may refuse a call.
            if any(done.returncode != 0 for done in told.values()):
                return None
            jobs = {name: json.loads(done.stdout) for name, done in told.items()}
            rests = {name: samples.bytes_below(node.folder / "archive" / "spool") for name, node in self.nodes.items()}
            going_on = [job for of_node in jobs.values() for job in of_node if job["state"] not in ("completed", "failed", "cancelled")]
            nonlocal last
            last = (rests, [(job["job_id"], job["state"]) for job in going_on])
            return None if going_on or any(rests.values()) else jobs

        last = None
        try:
            return process.wait_until(found, TO_SETTLE_S, "the end of all jobs and of what is spooled")
        except process.LabError as error:
            self.fail(f"{error}: {last}")

    def check(self, scans, reference, beside=()):
        """Each scan is one series with the volume of the undisturbed one. `beside`: jobs that are no scan of the rooms."""
        jobs = self.settled()
        held = collections.defaultdict(list)  # of each job, where it is completed
        halves = collections.Counter()
        for name, of_node in jobs.items():
            for job in of_node:
                if job["state"] == "completed":
                    held[job["job_id"]].append((name, job))
                else:
                    halves[job["state"]] += 1
        known = {scan["job_id"] for scan in scans}
        self.assertEqual(len(known), len(scans), "a job id stands for two scans")
        self.assertEqual(set(held) - known - set(beside), set(), "volumes of no scan")
        for job_id in known:
            self.assertEqual(len({job["result"]["series_instance_uid"] for _, job in held[job_id]}), 1, f"series of {job_id}: {held[job_id]}")
            self.assertEqual({job["frames_received"] for _, job in held[job_id]}, {FRAMES}, job_id)
        copies = [(job_id, name) for job_id in sorted(known) for name, _ in held[job_id]]
        with concurrent.futures.ThreadPoolExecutor(confinement.processors()) as pool:
            wrong = [copy for copy, same in zip(copies, pool.map(lambda copy: self.fetched(*copy) == reference, copies)) if not same]
        print(
            f"{len(known)} scans: {len(known)} series, {len(copies)} stored copies, {len(wrong)} of them another volume; "
            f"{dict(halves)} jobs that ended without one",
            flush=True,
        )
        self.assertEqual(wrong, [])

    def fetched(self, job_id, name):
        voxels = self.volume(job_id, name)
        self.path(f"{job_id}-{name}.mha").unlink()
        return voxels

    def check_disks(self, one):
        """Of all that a node has on its disk, nothing but results grows; `one`: the bytes of one."""
        for name in self.names:
            results = sum(job["state"] == "completed" for job in self.document("jobs", "--node", name, "--limit", 1000000))
            there = self.on_disk(name)
            print(f"{name}: {there / 2**20:.1f} MiB on disk for {results} results of {one / 2**20:.2f} MiB", flush=True)
            self.assertLessEqual(there, 1.1 * one * results + (16 << 20), name)
