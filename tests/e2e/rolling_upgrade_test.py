"""Three nodes are upgraded one after the other under load: each is drained, stopped, started again and resumed. No scan is refused or lost.

A campaign: `./dev test --fault -R rolling_upgrade`; ISOCENTER_ROOMS (6) says how many rooms scan again and again.
What it prints: how long each node was away, scans, and the time from a frame to its acknowledgement at the nodes.
"""

import collections
import os
import re
import signal
import threading
import time
import urllib.request

import cluster
import support
from lab import isocenter, process

ROOMS = int(os.environ.get("ISOCENTER_ROOMS", "6"))
FPS, FRAMES = 10, 100
# Of a node that is drained: until its last scan has its volume, on a machine that is ten times slower for a while.
TO_DRAIN_S = 120


class RollingUpgradeTest(cluster.ClusterTest):
    names = ("recon1", "recon2", "recon3")

    def setUp(self):
        super().setUp()
        self.over = threading.Event()
        self.scans = []  # (room, exit code, what it said, summary or None)
        self.within = collections.Counter()  # acknowledgements within so many seconds, of all nodes and their lives

    def room(self, number):
        """A console that scans again and again."""
        for scan in range(10000):
            if self.over.is_set():
                return
            summary = self.path(f"room-{number}-{scan}.json")
            done = isocenter.call(
                *("stream", self.bundle(), *support.GRID, "--fps", FPS, "--station", f"room-{number}", "--json", summary),
                *self.server(), seconds=240,
            )
            told = support.read_json(summary) if done.returncode == 0 else None
            self.scans.append((number, done.returncode, done.stderr, told))

    def metrics(self, node):
        with urllib.request.urlopen(f"http://{self.nodes[node].metrics}/metrics", timeout=10) as answer:
            return answer.read().decode()

    def received(self, node):
        found = re.search(r"^isocenter_received_frames_total (\S+)", self.metrics(node), re.MULTILINE)
        return float(found[1]) if found else 0

    def count_acknowledgements(self, node):
        """What it has counted since it was started, which ends with it."""
        for bound, count in re.findall(r'^isocenter_frame_ack_seconds_bucket\{le="([^"]+)"\} (\S+)', self.metrics(node), re.MULTILINE):
            self.within[float(bound)] += float(count)

    def quantile(self, share):
        """The least bound of the histogram within which so many are."""
        return min(bound for bound, count in self.within.items() if count >= share * max(self.within.values()))

    def upgrade(self, node):
        """How long it took no scans, in seconds."""
        began = time.monotonic()
        done = self.call("drain", "--node", node, "--reason", "upgrade")
        self.assertEqual(done.returncode, 0, done.stderr)
        process.wait_until(lambda: self.document("status", "--node", node)["active_jobs"] == 0, TO_DRAIN_S, f"the last scan of {node}")
        self.count_acknowledgements(node)
        self.nodes[node].process.signal(signal.SIGTERM)
        self.assertEqual(self.nodes[node].process.wait(60), 0)
        self.nodes[node].start()
        done = self.call("resume", "--node", node)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.wait_for_the_return_of(node)
        return time.monotonic() - began

    def test_no_scan_is_refused_or_lost(self):
        self.bundle()
        self.start()
        rooms = [threading.Thread(target=self.room, args=(number,)) for number in range(1, ROOMS + 1)]
        for room in rooms:
            room.start()
        try:
            for node in self.names:
                process.wait_until(lambda: self.received(node) > 0, 120, f"a scan at {node}, so that there is something to lose")
                print(f"{node}: {self.upgrade(node):.1f} s from drain to return", flush=True)
            status = self.document("status")["nodes"]
        finally:
            self.over.set()
            for room in rooms:
                room.join()
        self.assertEqual([node["node"] for node in status if node["ready"]], list(self.names))
        for node in self.names:
            self.count_acknowledgements(node)
        failed = [scan for scan in self.scans if scan[1] != 0]
        summaries = [scan[3] for scan in self.scans if scan[3] is not None]
        print(
            f"{ROOMS} rooms: {len(summaries)} scans completed, {len(failed)} refused or failed, "
            f"{sum(FRAMES - told['frames'] for told in summaries)} of {FRAMES * len(summaries)} frames lost, "
            f"{sum(told['reconnects'] for told in summaries)} reconnects; acknowledged within "
            f"{1000 * self.quantile(0.5):g} ms (50 %), {1000 * self.quantile(0.99):g} ms (99 %)",
            flush=True,
        )
        self.assertEqual(failed, [])
        self.assertTrue(all(told["frames"] == FRAMES for told in summaries))
        self.assertEqual({scan[0] for scan in self.scans}, set(range(1, ROOMS + 1)))
        # Each scan is one job, somewhere, and it is completed.
        jobs = collections.defaultdict(list)
        for job in self.document("jobs", "--limit", 10000):
            jobs[job["job_id"]].append(job["state"])
        for told in summaries:
            self.assertEqual(jobs[told["job_id"]], ["completed"])


if __name__ == "__main__":
    support.main()
