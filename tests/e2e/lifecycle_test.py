"""Draining on SIGTERM, and what survives a restart."""

import json
import shutil
import signal

import dated_certificate
import support
from lab import isocenter, process


class LifecycleTest(support.ServiceTest):
    def job_is_listed(self, service, state):
        return state.lower() in isocenter.must("jobs", "--server", service.grpc).lower()

    def test_drain_finishes_what_was_accepted(self):
        service = self.service()
        console = self.background(
            [isocenter.binary("isocenter"), "stream", self.bundle(), "--server", service.grpc]
            + [*support.GRID, "--fps", "15", "--json", self.folder / "drained.json"],
            "console",
        )
        console.wait_for(lambda: self.job_is_listed(service, "receiving"), 60, "its job being listed")
        service.process.signal(signal.SIGTERM)
        # Seconds of frames are still to come, all of them for an accepted job.
        late = isocenter.call("stream", self.bundle(), "--server", service.grpc, *support.GRID, seconds=60)
        self.assertEqual(late.returncode, 6, "a new acquisition was accepted while draining")
        self.assertEqual(console.wait(120), 0, console.output())
        self.assertEqual(service.process.wait(120), 0, service.process.output())
        self.assertEqual(support.read_json(self.folder / "drained.json")["instance_count"], support.INSTANCES)

    def test_idle_service_ends_at_once(self):
        service = self.service()
        # Less than the 60 s for which it would wait for jobs.
        self.assertEqual(service.terminate(seconds=40), 0, service.process.output())

    def restart_keeps_everything(self, end):
        service = self.service()
        job = self.stream(service)["job_id"]
        before = self.fetch_voxels(service, job)
        end(service)
        service.start()
        self.assertIn(job, isocenter.must("jobs", "--server", service.grpc))
        self.assertTrue(self.fetch_voxels(service, job) == before, "the volume changed")
        fetched = self.folder / "fetched"
        isocenter.must("fetch", job, "--server", service.grpc, "--format", "dicom", "--out", fetched)
        self.assertEqual(len(list(fetched.iterdir())), 65)

    def test_restart_after_drain(self):
        self.restart_keeps_everything(lambda service: self.assertEqual(service.terminate(), 0))

    def test_restart_after_kill(self):
        self.restart_keeps_everything(lambda service: service.kill())

    def test_a_node_that_is_drained_stays_so_until_somebody_resumes(self):
        service = self.service()
        isocenter.must("drain", "--reason", "new filter", "--server", service.grpc)
        since = json.loads(isocenter.must("status", "--json", "--server", service.grpc))["drain"]
        for end in (service.kill, service.terminate):
            end()
            service.start()
            self.assertRegex(service.process.output(), r'event=drained_since time=\S+ by="[^"]+" reason="new filter"')
            status = json.loads(isocenter.must("status", "--json", "--server", service.grpc))
            self.assertEqual((status["ready"], status["drain"]), (False, since))
            refused = isocenter.call("stream", self.bundle(), "--server", service.grpc, *support.GRID)
            self.assertEqual(refused.returncode, 6, refused.stderr)
            self.assertIn("the node is drained: new filter", refused.stderr)
        isocenter.must("resume", "--server", service.grpc)
        service.kill()
        service.start()
        self.assertNotIn("drained_since", service.process.output())
        self.stream(service)

    def test_signals_that_mean_nothing_here_do_nothing(self):
        service = self.service(wrapper=["setsid"])  # without a terminal
        for name in ("SIGHUP", "SIGUSR1", "SIGUSR2"):
            service.process.signal(signal.Signals[name])
            service.process.wait_for(lambda: f"event=signal_ignored signal={name}" in service.process.output(), 20, name)
        self.stream(service)
        self.assertEqual(service.terminate(), 0)

    def test_a_certificate_that_ends_meanwhile_is_told_of(self):
        openssl = shutil.which("openssl")
        if not openssl:
            self.skipTest("openssl is not installed")
        dated_certificate.issue(openssl, self.folder, "node", -60, 90)
        (self.folder / "node.key").chmod(0o600)
        files = {"certificate_file": self.folder / "node.pem", "private_key_file": self.folder / "node.key"}
        service = isocenter.Service(self.folder / "service", tls=files)
        self.addCleanup(service.stop)
        service.start()
        self.assertIn("event=certificate_ends_soon field=grpc_tls.certificate_file", service.process.output())
        ended = "event=certificate_has_ended field=grpc_tls.certificate_file"
        self.assertNotIn(ended, service.process.output())
        service.process.wait_for(lambda: ended in service.process.output(), 150, "the end of the certificate")
        self.assertEqual(service.terminate(), 0)

    def test_one_service_writes_an_audit_trail(self):
        """A second one, with an archive, a spool and ports of its own, would break the chain of its records."""
        trail = self.folder / "trail" / "audit.jsonl"
        audit = f'audit {{ file: "{trail}" }}'
        service = self.service(config=audit)
        config = self.folder / "other.textproto"
        free = "127.0.0.1:0"
        config.write_text(
            f'archive_directory: "{self.folder / "other"}" {audit} grpc_address: "{free}" metrics_address: "{free}" '
            f'web {{ address: "{free}" }} dicom_node {{ port: {process.free_port()} }}\n'
        )
        for flags in (["--check"], []):
            second = self.isocenterd("--config", config, *flags)
            self.assertEqual(second.returncode, 1, second.stderr)
            self.assertIn(f"audit.file is {trail}; {trail} is in use by another process (", second.stderr)
        # The one that runs is to be started again: that is what is checked.
        self.assertEqual(self.isocenterd("--config", service.config, "--check").stdout, "ok\n")
        running = self.isocenterd("--config", service.config, "--check")
        self.assertNotIn("would fail", running.stderr)
        # With another archive, but the spool and a port of the one that runs.
        spool = service.folder / "archive" / "spool"
        config.write_text(config.read_text().replace(audit, "").replace(f'grpc_address: "{free}"', f'grpc_address: "{service.grpc}"'))
        second = self.isocenterd("--config", config, "--check", "--spool", spool)
        self.assertEqual((second.returncode, second.stdout), (0, "ok\n"), second.stderr)
        self.assertIn(f"would fail: spool.directory is {spool}; {spool} is in use by another process (", second.stderr)
        self.assertIn(f"would fail: grpc_address is {service.grpc}, which cannot be listened on: Address already in use", second.stderr)
        self.assertEqual(service.terminate(), 0)
        verified = self.isocenterd("--verify_audit", trail.parent)
        self.assertEqual(verified.returncode, 0, verified.stderr)
        self.assertTrue(verified.stdout.startswith("whole: "), verified.stdout)

    def test_an_archive_that_is_not_mounted_is_noticed(self):
        service = self.service(config="directories_must_exist: false")
        archive, away = service.folder / "archive", service.folder / "unmounted"
        for event in ("archive_created", "spool_created"):
            self.assertIn(f"event={event} directory=", service.process.output())
        self.assertEqual(service.terminate(), 0)
        service.extra_config = "directories_must_exist: true"
        service.start()
        self.assertNotIn("_created", service.process.output())
        self.assertEqual(service.terminate(), 0)
        archive.rename(away)
        archive.mkdir()
        for flags in (["--check"], []):
            refused = self.isocenterd("--config", service.config, *flags)
            self.assertEqual(refused.returncode, 1, refused.stderr)
            self.assertIn(
                f"archive_directory is {archive}; directories_must_exist is set, and no archive is there", refused.stderr
            )
        self.assertEqual(list(archive.iterdir()), [], "something was made in the mount point")
        archive.rmdir()
        away.rename(archive)
        self.assertEqual(self.isocenterd("--config", service.config, "--check").stdout, "ok\n")
        spool = self.folder / "none" / "spool"
        refused = self.isocenterd("--config", service.config, "--spool", spool)
        self.assertEqual(refused.returncode, 1, refused.stderr)
        self.assertIn(f"spool.directory is {spool}; directories_must_exist is set, and no spool is there", refused.stderr)
        self.assertFalse(spool.parent.exists())

    def test_results_without_their_index_are_no_missing_archive(self):
        service = self.service()
        job = self.stream(service)["job_id"]
        self.assertEqual(service.terminate(), 0)
        index, away = service.folder / "archive" / "index.sqlite", self.folder / "index.sqlite"
        index.rename(away)
        service.extra_config = "directories_must_exist: true"
        service._write_config()
        for flags in (["--check"], []):
            refused = self.isocenterd("--config", service.config, *flags)
            self.assertEqual(refused.returncode, 1, refused.stderr)
            self.assertIn("results are there (results/) without their index (index.sqlite): put the index back", refused.stderr)
            self.assertNotIn("is its disk mounted", refused.stderr)
        self.assertFalse(index.exists())
        away.rename(index)
        service.start()
        self.assertIn(job, isocenter.must("jobs", "--server", service.grpc))

    def test_a_completed_job_whose_result_is_lost_says_so(self):
        service = self.service()
        job = self.stream(service)["job_id"]
        self.assertEqual(service.terminate(), 0)
        for result in (service.folder / "archive" / "results").iterdir():
            shutil.rmtree(result)
        service.start()
        lost = "the volume was completed and its stored result is lost: when the service started at "
        listed = isocenter.must("jobs", "--server", service.grpc)
        self.assertIn("failed", listed)
        self.assertIn(lost[:20], listed)
        fetched = isocenter.call("fetch", job, "--server", service.grpc, "--out", self.folder / "lost.mha")
        self.assertNotEqual(fetched.returncode, 0)
        self.assertIn(lost, fetched.stderr)
        self.assertIn("or delete the job", fetched.stderr)
        isocenter.must("delete", job, "--server", service.grpc)
        self.assertNotIn(job, isocenter.must("jobs", "--server", service.grpc))

    def isocenterd(self, *arguments):
        return process.run([isocenter.binary("isocenterd"), *arguments], 60)


if __name__ == "__main__":
    support.main()
