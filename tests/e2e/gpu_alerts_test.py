"""Alerts of GPUs fired for real, on a machine that has one: it fails, it is lost with nothing left, it is not found.

Runs with the long campaigns: ./dev test --fault -R gpu_alerts. It needs no more of a machine than the programs, Python and
Prometheus, so that it can be carried to one.
"""

import json
import pathlib
import re
import shutil
import struct
import tempfile
import unittest
import urllib.request

import alerting
import support
from lab import isocenter

GPU = re.compile(r"event=device backend=cuda .*")
ALERTS = ("IsocenterDeviceQuarantined", "IsocenterNoDevice", "IsocenterGpuMissing")
gpus = 0


def setUpModule():
    global gpus
    folder = pathlib.Path(tempfile.mkdtemp(prefix="isocenter-e2e-"))
    unittest.addModuleCleanup(shutil.rmtree, folder, ignore_errors=True)
    service = isocenter.Service(folder)
    try:
        log = service.start().process.output()
    finally:
        service.stop()
    gpus = len(GPU.findall(log))
    if gpus == 0:
        raise unittest.SkipTest("isocenterd finds no GPU: " + re.search(r'event=device .*reason="(.*)"', log)[1])


class GpuAlertsTest(alerting.AlertsTest):
    def get(self, service, path):
        """Status and JSON of an answer of the web interface."""
        with urllib.request.urlopen(f"http://{service.web}{path}", timeout=20) as answer:
            return answer.status, json.load(answer)

    def test_a_gpu_that_fails_beside_a_cpu(self):
        service = self.service(flags=["--gpus", 1, "--fault", "cuda0@3"])
        prom = self.watched(service)
        self.expect_silence(prom, *ALERTS)
        summary = self.stream(service, "--fps", 50)
        self.assertIn("a device failed; the job is computed again", json.dumps(summary))
        self.expect(prom, "IsocenterDeviceQuarantined", "only a restart", device="cuda0")
        self.expect(prom, "IsocenterGpuMissing", "0 GPUs compute")
        self.expect_silence(prom, "IsocenterNoDevice", "IsocenterDown")
        self.assertEqual(prom.value('isocenter_device_lost_total{device="cuda0"}'), 1)
        self.assertEqual(prom.value('isocenter_jobs_resumed_total{reason="device"}'), 1)

        # What an operator sees: why, that it still serves, and on what.
        status, body = self.get(service, "/api/v1/devices")
        gpu, cpu = body["devices"]
        self.assertEqual((status, gpu["name"], gpu["healthy"]), (200, "cuda0", False))
        self.assertIn("illegal memory access", gpu["quarantine_reason"])
        self.assertEqual(set(gpu["predicted_wait_seconds"].values()), {None})
        self.assertEqual(gpu["queue_chunks"], 0)
        self.assertEqual((cpu["name"], cpu["healthy"], cpu["quarantine_reason"]), ("cpu0", True, None))
        self.assertEqual(self.get(service, "/readyz"), (200, {"ok": True, "reasons": []}))
        told = isocenter.must("status", "--server", service.grpc)
        self.assertIn("is ready", told)
        self.assertRegex(told, r"(?m)^cuda0: failed: .*illegal memory access")
        self.assertRegex(told, r"(?m)^cpu0: healthy, ")

        # The volume is what the CPU alone makes of the frames.
        again = self.stream(service)
        self.assertEqual(self.fetch_voxels(service, summary["job_id"]), self.fetch_voxels(service, again["job_id"]))

        self.assertEqual(service.terminate(), 0)
        service.flags = ["--gpus", 1]
        service.start()
        self.expect_end(prom, *ALERTS, "IsocenterDown")
        self.assertEqual(prom.value('isocenter_device_healthy{device="cuda0"}'), 1)

    def test_the_only_gpu_is_lost(self):
        self.lose_the_last_device("cuda0@3", "--backend", "cuda", "--gpus", 1)

    def test_a_gpu_that_is_not_found_after_a_restart(self):
        service = self.service()
        prom = self.watched(service)
        prom.process.wait_for(lambda: prom.value("isocenter:gpus_healthy:sum") == gpus, 20, "all GPUs")
        self.expect_silence(prom, *ALERTS)
        self.assertEqual(service.terminate(), 0)
        service.wrapper = ["env", "CUDA_VISIBLE_DEVICES="]
        service.start()
        self.assertIn("running on the CPU", service.process.output())
        self.expect(prom, "IsocenterGpuMissing", "0 GPUs compute")
        self.expect_silence(prom, "IsocenterDeviceQuarantined", "IsocenterNoDevice")
        self.stream(service)
        self.assertEqual(service.terminate(), 0)
        service.wrapper = []
        service.start()
        self.expect_end(prom, *ALERTS, "IsocenterDown")

    def test_one_of_those_that_share_each_job_is_not_found(self):
        if gpus < 2:
            self.skipTest("this machine has one GPU")
        service = self.service(config=f"limits {{ gpus: {gpus} gpus_per_job: {gpus} }}")
        prom = self.watched(service)
        prom.process.wait_for(lambda: prom.value("isocenter:gpus_healthy:sum") == gpus, 20, "all GPUs")
        before = self.fetch_voxels(service, self.stream(service)["job_id"])
        self.expect_silence(prom, *ALERTS)
        self.assertEqual(service.terminate(), 0)
        service.wrapper = ["env", "CUDA_VISIBLE_DEVICES=0"]
        service.start()
        # As many devices as before, and fewer GPUs.
        self.expect(prom, "IsocenterGpuMissing", "1 GPUs compute")
        self.assertEqual(prom.value('isocenter_device_healthy{device="cuda0"}'), 1)
        after = self.fetch_voxels(service, self.stream(service)["job_id"])
        # Slices and detector rows are divided otherwise: rounding in float32.
        worst = max(abs(a - b) for (a,), (b,) in zip(struct.iter_unpack("<f", before), struct.iter_unpack("<f", after)))
        self.assertLess(worst, 0.01)

    def test_fewer_gpus_than_are_configured(self):
        """As after the loss of one of those that share each volume: what there is computes."""
        wanted = gpus + 1
        service = self.service(config=f"limits {{ gpus: {wanted} gpus_per_job: {wanted} }}")
        self.assertIn(f"event=gpus_missing configured={wanted} found={gpus}", service.process.output())
        self.assertIn(f"event=slot_incomplete gpus={gpus} of={wanted}", service.process.output())
        prom = self.watched(service)
        prom.process.wait_for(lambda: prom.value("isocenter:gpus_healthy:sum") == gpus, 20, "all GPUs")
        self.stream(service)
        self.assertGreater(self.get(service, "/api/v1/devices")[1]["devices"][0]["speed_gups"], 0)


if __name__ == "__main__":
    support.main()
