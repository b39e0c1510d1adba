"""Draining on SIGTERM, and what survives a restart."""

import signal

import support
from lab import isocenter


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


if __name__ == "__main__":
    support.main()
