"""Three nodes are upgraded one after the other under load: each is drained, stopped and started again. No scan is refused or lost.

A campaign: `./dev test --fault -R rolling_upgrade`; ISOCENTER_ROOMS (6) and ISOCENTER_UPGRADE_SECONDS (120) say how much load.
What it prints: scans, how long each node was away, and the time from a frame to its acknowledgement.
"""

import os
import re
import signal
import time
import urllib.request

import cluster
import support
from lab import isocenter, process

ROOMS = int(os.environ.get("ISOCENTER_ROOMS", "6"))
SECONDS = int(os.environ.get("ISOCENTER_UPGRADE_SECONDS", "120"))
FPS, FRAMES = 10, 60
# Of a node that is drained: until its last scan has its volume, on a machine that is ten times slower for a while.
TO_DRAIN_S = 120


class RollingUpgradeTest(cluster.ClusterTest):
    names = ("recon1", "recon2", "recon3")

    def rooms(self):
        """Consoles that scan again and again."""
        argv = [
            *(isocenter.binary("isocenter-bench"), "rooms", "--rooms", ROOMS, "--fps", FPS, "--frames", FRAMES),
            *("--columns", 310, "--rows", 240, "--grid", 64, "--seconds", SECONDS, "--json", self.path("rooms.json")),
        ]
        return self.background([*argv, *self.server()], "rooms")

    def accepted(self, node):
        """Acquisitions that a node has taken since it was started."""
        with urllib.request.urlopen(f"http://{self.nodes[node].metrics}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        found = re.search(r"^isocenter_received_frames_total (\S+)", text, re.MULTILINE)
        return float(found[1]) if found else 0

    def upgrade(self, node):
        """How long it took no scans, in seconds."""
        began = time.monotonic()
        done = self.call("drain", "--node", node, "--reason", "upgrade")
        self.assertEqual(done.returncode, 0, done.stderr)
        process.wait_until(lambda: self.document("status", "--node", node)["active_jobs"] == 0, TO_DRAIN_S, f"the last scan of {node}")
        self.nodes[node].process.signal(signal.SIGTERM)
        self.assertEqual(self.nodes[node].process.wait(60), 0)
        self.nodes[node].start()
        self.wait_for_the_return_of(node)
        return time.monotonic() - began

    def test_no_scan_is_refused_or_lost(self):
        self.start()
        rooms = self.rooms()
        for node in self.names:
            process.wait_until(lambda: self.accepted(node) > 0, 60, f"a scan at {node}, so that there is something to lose")
            away = self.upgrade(node)
            self.assertIsNone(rooms.exit_code(), "the load has ended before the upgrade")
            print(f"{node}: {away:.1f} s from drain to return", flush=True)
        status = self.document("status")["nodes"]
        self.assertEqual([node["node"] for node in status if node["ready"]], list(self.names))
        self.assertEqual(rooms.wait(SECONDS + 300), 0, rooms.output())
        live = support.read_json(self.path("rooms.json"))["classes"]["live"]
        ack = live["acknowledge_seconds"]
        print(
            f"{ROOMS} rooms: {live['completed']} scans completed, {live['refused']} refused, {live['failed']} failed, "
            f"{live['frames_lost']} of {live['frames_sent']} frames lost; frame to acknowledgement p50 {ack['p50'] * 1000:.0f} ms, "
            f"p99 {ack['p99'] * 1000:.0f} ms, most {ack['max'] * 1000:.0f} ms",
            flush=True,
        )
        self.assertEqual((live["refused"], live["failed"], live["frames_lost"]), (0, 0, 0), rooms.output())
        self.assertGreaterEqual(live["completed"], ROOMS)


if __name__ == "__main__":
    support.main()
