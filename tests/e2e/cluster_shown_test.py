"""All nodes are shown at any of them, also one that hangs or is gone; what it left is taken over, or dropped, by hand."""

import json
import signal
import time
import urllib.request

import replication_test
import support
from lab import isocenter, process


class ClusterShownTest(replication_test.ReplicatedNodes):
    take_over_seconds = 3600  # by hand alone

    def setUp(self):
        super().setUp()
        # The keeper knows its origin by a certificate; where it is, it is told.
        files = f'ca_file: "{self.path("ca.pem")}" certificate_file: "{self.path("recon2.pem")}" private_key_file: "{self.path("recon2.key")}"'
        peers = f'peer {{ node: "recon1" address: "{self.first.grpc}" }} peer_tls {{ {files} }}'
        self.keeper.terminate()
        self.keeper.extra_config = self.keeper.extra_config.replace("replication {", f"{peers} replication {{", 1)
        self.keeper.start()

    def nodes(self, at):
        """{name: what `isocenter status` at a node's own address says of it}, its exit code"""
        done = isocenter.call("status", *self.server(at), "--json")
        return {node["node"]: node for node in json.loads(done.stdout)["nodes"]}, done.returncode

    def shown(self, at):
        """{name: what a node's page shows of it}, and how long that took"""
        begin = time.monotonic()
        with urllib.request.urlopen(f"http://{at.web}/api/v1/cluster", timeout=5) as answer:
            nodes = json.loads(answer.read())["nodes"]
        return {node["node"]: node for node in nodes}, time.monotonic() - begin

    def replicas(self, *arguments):
        return isocenter.call("replicas", *arguments, *self.server(self.keeper))

    def test_every_node_is_shown_at_any(self):
        process.wait_until(lambda: self.nodes(self.first)[1] == 0, 20, "the other node")
        process.wait_until(lambda: self.nodes(self.keeper)[1] == 0, 20, "the other node")
        for at in (self.first, self.keeper):
            nodes, _ = self.nodes(at)
            self.assertEqual(sorted(nodes), ["recon1", "recon2"])
            self.assertTrue(all(node["reachable"] and node["ready"] for node in nodes.values()), nodes)
            self.assertEqual(nodes["recon1"]["replication"]["keeper"], "recon2")
            self.assertTrue(nodes["recon1"]["replication"]["keeper_reached"])
            self.assertEqual(nodes["recon2"]["replication"]["origins"][0]["node"], "recon1")
        # One that hangs costs nobody any time, and says since when.
        self.first.process.signal(signal.SIGSTOP)
        try:
            process.wait_until(lambda: not self.shown(self.keeper)[0]["recon1"]["reachable"], 10, "the loss")
            nodes, seconds = self.shown(self.keeper)
            print(f"the page's answer beside a node that hangs: {1000 * seconds:.0f} ms", flush=True)
            self.assertLess(seconds, 1)
            self.assertIsNotNone(nodes["recon1"]["seen_time"])
            told, code = self.nodes(self.keeper)
            self.assertEqual(code, 3)
            self.assertFalse(told["recon1"]["reachable"])
            self.assertIn("recon2 saw it last at", told["recon1"]["error_message"])
        finally:
            self.first.process.signal(signal.SIGCONT)
        process.wait_until(lambda: self.shown(self.keeper)[0]["recon1"]["reachable"], 10, "the return")

    def test_a_job_is_taken_over_by_hand(self):
        self.console(self.first, "scan", *replication_test.LARGE, "--fps", 20)
        process.wait_until(lambda: self.acknowledged(self.first) >= 10, 60, "some acknowledgements")
        (job,) = (replica["job_id"] for replica in json.loads(self.replicas("list", "--json").stdout)["replicas"])
        refused = self.replicas("take", job)
        self.assertEqual(refused.returncode, 5)
        self.assertIn("node recon1, whose job", refused.stderr)
        process.wait_until(lambda: self.acknowledged(self.first) == replication_test.FRAMES, 60, "all acknowledgements")
        self.lose(self.first)
        begin = time.monotonic()
        process.wait_until(lambda: self.replicas("take", job).returncode == 0, 20, "the takeover")
        ended = self.ended(self.keeper)
        print(f"the volume came {time.monotonic() - begin:.1f} s after the loss", flush=True)
        self.assertEqual((ended["job_id"], ended["state"]), (job, "completed"), ended)
        self.assertEqual(self.voxels(self.keeper, job), self.undisturbed(*replication_test.LARGE))
        process.wait_until(lambda: self.replicas("show", job).returncode == 4, 10, "the end of the copy")
        self.assertEqual(self.metric(self.keeper, "isocenter_orphaned_replicas"), 0)

    def test_a_copy_is_dropped_by_hand(self):
        console = self.console(self.first, "scan", *support.GRID, "--fps", 20)
        process.wait_until(lambda: self.acknowledged(self.first) >= 20, 60, "some acknowledgements")
        (replica,) = json.loads(self.replicas("list", "--json").stdout)["replicas"]
        self.assertEqual((replica["origin"], replica["state"], replica["node"]), ("recon1", "kept", "recon2"))
        self.lose(self.first)
        console.stop()
        careless = self.replicas("drop", replica["job_id"])
        self.assertEqual(careless.returncode, 5)
        self.assertIn("may be nowhere else", careless.stderr)
        process.wait_until(lambda: self.replicas("drop", replica["job_id"], "--force").returncode == 0, 20, "the end of the copy")
        self.assertEqual(json.loads(self.replicas("list", "--json").stdout)["replicas"], [])
        self.assertEqual(self.jobs(self.keeper), [])


if __name__ == "__main__":
    support.main()
