"""Copies of frames on a second node: a disk is lost and the volume comes, the keeper is lost and the scan goes on. No proxy."""

import json
import re
import shutil
import time
import urllib.request

import support
from lab import isocenter, process

FRAMES = 100
# Large enough to be computed for a while after the last frame.
LARGE = ("--grid", "256x256x256", "--voxel-mm", "0.75")
TAKE_OVER_SECONDS = 3


class ReplicatedNodes(support.ServiceTest):
    """recon1, whose copies recon2 keeps."""

    take_over_seconds = TAKE_OVER_SECONDS

    def setUp(self):
        super().setUp()
        self.openssl = support.need("openssl", "openssl")
        self.certificates()
        self.keeper = self.node("recon2", f"origin {{ {self.origin()} }} take_over_seconds: {self.take_over_seconds}")
        self.first = self.begin_first()

    def path(self, name):
        return self.folder / name

    def origin(self):
        return 'node: "recon1" certificate_subject: "CN=recon1"'

    def certificates(self):
        """An authority, and a certificate for each node and one for consoles."""

        def ssl(*arguments):
            done = process.run([self.openssl, *arguments], cwd=self.folder)
            self.assertEqual(done.returncode, 0, done.stderr)

        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        ssl("req", "-x509", *curve, "-days", "2", "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "ca.pem")
        self.path("names").write_text("subjectAltName=IP:127.0.0.1\n")
        for name in ("recon1", "recon2", "console"):
            ssl("req", *curve, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
            ssl(
                *("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"),
                *("-days", "2", "-extfile", "names", "-out", f"{name}.pem"),
            )

    def node(self, name, replication, more="", certificate=None):
        certificate = certificate or name
        return self.service(
            name,
            tls={
                "certificate_file": self.path(f"{certificate}.pem"),
                "private_key_file": self.path(f"{certificate}.key"),
                "client_ca_file": self.path("ca.pem"),
            },
            config=f'cluster {{ node_name: "{name}" node: "recon1" node: "recon2" replication {{ {replication} }} }}\n'
            f"limits {{ reconnect_seconds: 5 }}\n{more}",
        )

    def begin_first(self, certificate="recon1"):
        files = (
            f'ca_file: "{self.path("ca.pem")}" certificate_file: "{self.path(certificate)}.pem" '
            f'private_key_file: "{self.path(certificate)}.key"'
        )
        keeper = f'keeper {{ node: "recon2" address: "{self.keeper.grpc}" {files} patience_seconds: 1 }}'
        return self.node("recon1", keeper, "spool { sync: SYNC_POLICY_REPLICATED }")

    def server(self, node):
        return (
            *("--server", node.grpc, "--ca", self.path("ca.pem")),
            *("--cert", self.path("console.pem"), "--key", self.path("console.key")),
        )

    def console(self, node, name, *options):
        """A scan that does not go elsewhere by itself."""
        argv = [isocenter.binary("isocenter"), "stream", self.bundle(), *self.server(node), "--failover-seconds", 0]
        return self.background([*argv, *options, "--json", self.path(f"{name}.json")], name)

    def jobs(self, node):
        done = isocenter.call("jobs", *self.server(node), "--node", node.folder.name, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def voxels(self, node, job):
        file = self.path(f"{job}-{node.folder.name}.mha")
        done = isocenter.call("fetch", job, *self.server(node), "--node", node.folder.name, "--format", "mha", "--out", file, "--overwrite")
        self.assertEqual(done.returncode, 0, done.stderr)
        return file.read_bytes().partition(b"ElementDataFile = LOCAL\n")[2]

    def metric(self, node, name):
        with urllib.request.urlopen(f"http://{node.metrics}/metrics", timeout=5) as answer:
            text = answer.read().decode()
        found = re.search(rf"^{re.escape(name)} (\S+)", text, re.MULTILINE)
        return float(found[1]) if found else 0

    def acknowledged(self, node):
        return self.metric(node, "isocenter_frame_ack_seconds_count")

    def lose(self, node):
        """The machine with its disk."""
        node.kill()
        shutil.rmtree(node.folder / "archive")

    def ended(self, node, seconds=60):
        """The only job of a node, when it has ended."""

        def job():
            jobs = self.jobs(node)
            self.assertLessEqual(len(jobs), 1)
            return next((j for j in jobs if j["state"] in ("completed", "failed", "cancelled")), None)

        return process.wait_until(job, seconds, f"the end of a job\n{node.process.output()[-3000:]}")

    def undisturbed(self, *options):
        """The voxels of a node that keeps no copies."""
        whole = self.service("whole")
        summary = isocenter.json_of("stream", self.bundle(), "--server", whole.grpc, *options)
        return self.fetch_voxels(whole, summary["job_id"])


class ReplicationTest(ReplicatedNodes):
    def test_a_lost_disk_costs_no_scan(self):
        self.console(self.first, "lost", *LARGE)
        process.wait_until(lambda: self.acknowledged(self.first) == FRAMES, 60, "all acknowledgements")
        self.lose(self.first)
        killed = time.monotonic()
        job = self.ended(self.keeper)
        print(f"the volume came {time.monotonic() - killed:.1f} s after the death", flush=True)
        self.assertEqual(job["state"], "completed", job)
        self.assertEqual(job["frames_received"], FRAMES)
        self.assertEqual(self.metric(self.keeper, "isocenter_taken_over_jobs_total"), 1)
        self.assertEqual(self.voxels(self.keeper, job["job_id"]), self.undisturbed(*LARGE))
        process.wait_until(lambda: self.metric(self.keeper, "isocenter_replicas") == 0, 10, "the end of the copy")
        # The node comes back empty, and its copies are kept as before.
        self.first.start()
        self.assertEqual(self.jobs(self.first), [])
        again = self.console(self.first, "again", *support.GRID)
        self.assertEqual(again.wait(60), 0, again.output())
        self.assertEqual(support.read_json(self.path("again.json"))["warnings"], [])

    def test_a_node_that_comes_back_makes_the_same_series(self):
        self.console(self.first, "killed", *LARGE)
        process.wait_until(lambda: self.acknowledged(self.first) == FRAMES, 60, "all acknowledgements")
        self.first.kill()
        taken = self.ended(self.keeper)
        self.first.start()
        own = self.ended(self.first)
        self.assertEqual([taken["state"], own["state"]], ["completed", "completed"])
        self.assertEqual(taken["job_id"], own["job_id"])
        self.assertEqual(taken["result"]["series_instance_uid"], own["result"]["series_instance_uid"])
        self.assertEqual(self.voxels(self.keeper, taken["job_id"]), self.voxels(self.first, own["job_id"]))

    def test_half_a_scan_waits_for_its_console_and_makes_no_series_without(self):
        self.console(self.first, "half", *support.GRID, "--fps", 20)
        process.wait_until(lambda: self.acknowledged(self.first) >= 20, 60, "some acknowledgements")
        self.lose(self.first)
        job = self.ended(self.keeper)
        self.assertEqual(job["state"], "failed", job)
        self.assertGreaterEqual(job["frames_received"], 20)
        self.assertIn("did not come back within", job["error_message"])

    def test_half_a_scan_that_its_node_completes_is_no_failure_at_the_keeper(self):
        console = self.console(self.first, "back", *support.GRID, "--fps", 20)
        process.wait_until(lambda: self.acknowledged(self.first) >= 20, 60, "some acknowledgements")
        self.first.kill()
        process.wait_until(lambda: self.jobs(self.keeper), 30, "the job at the keeper")
        self.first.start()
        self.assertEqual(console.wait(60), 0, console.output())
        self.assertEqual(self.ended(self.first)["state"], "completed")
        job = self.ended(self.keeper)
        self.assertEqual(job["state"], "cancelled", job)
        self.assertIn("handed back: node recon1", job["error_message"])
        failed = 'isocenter_jobs_total{class="live",kind="reconstruction",outcome="failed"}'
        self.assertEqual(self.metric(self.keeper, failed), 0)

    def test_half_a_scan_goes_on_at_the_keeper(self):
        self.console(self.first, "half", *support.GRID, "--fps", 20)
        process.wait_until(lambda: self.acknowledged(self.first) >= 20, 60, "some acknowledgements")
        self.lose(self.first)
        job = process.wait_until(lambda: next(iter(self.jobs(self.keeper)), None), 30, "the job at the keeper")["job_id"]
        rest = self.console(self.keeper, "rest", *support.GRID, "--resume", job)
        self.assertEqual(rest.wait(60), 0, rest.output())
        self.assertEqual(self.ended(self.keeper)["state"], "completed")
        self.assertEqual(self.voxels(self.keeper, job), self.undisturbed(*support.GRID))

    def test_a_lost_keeper_costs_a_warning(self):
        console = self.console(self.first, "alone", *support.GRID, "--fps", 5)
        process.wait_until(lambda: self.acknowledged(self.first) >= 20, 60, "some acknowledgements")
        self.keeper.kill()
        process.wait_until(lambda: self.metric(self.first, 'isocenter_replicated_jobs{state="degraded"}') == 1, 10, "the loss")
        # It comes back in mid-scan, and gets what it lacks.
        self.keeper.start()
        process.wait_until(lambda: self.metric(self.first, 'isocenter_replicated_jobs{state="kept"}') == 1, 30, "the return")
        self.assertEqual(console.wait(60), 0, console.output())
        summary = support.read_json(self.path("alone.json"))
        self.assertEqual(summary["frames"], FRAMES)
        self.assertTrue(any("on this node's disk alone" in text for text in summary["warnings"]), summary)
        self.assertIn("event=replica_restored", self.first.process.output())
        # What is stored needs no copy.
        process.wait_until(lambda: self.metric(self.keeper, "isocenter_replicas") == 0, 20, "the end of the copy")
        time.sleep(TAKE_OVER_SECONDS + 1)
        self.assertEqual(self.jobs(self.keeper), [])

    def test_another_certificate_keeps_no_copies(self):
        self.first.terminate()
        self.first = self.begin_first(certificate="console")
        console = self.console(self.first, "refused", *support.GRID)
        self.assertEqual(console.wait(60), 0, console.output())
        warnings = support.read_json(self.path("refused.json"))["warnings"]
        self.assertTrue(any("legal are those of cluster.replication.origin" in text for text in warnings), warnings)
        self.assertEqual(self.metric(self.keeper, "isocenter_replicas"), 0)


if __name__ == "__main__":
    support.main()
