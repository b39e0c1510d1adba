"""Alerts fired for real: what each watches is broken, and a real Prometheus with our rules must notice.

Runs with the long campaigns: ./dev test --fault -R alerts. Those of GPUs are in gpu_alerts_test.py.
"""

import contextlib
import signal
import subprocess
import threading
import time

import alerting
import dated_certificate
import support
from lab import isocenter, process

SECONDS_OF_CERTIFICATE = 30
ONE_JOB_PAUSES = ("--fps", 5)  # 100 frames take 20 s


class AlertsTest(alerting.AlertsTest):
    def test_a_killed_service_is_down_and_a_loop_of_starts_is_seen(self):
        service = self.service()
        prom = self.watched(service)
        self.expect_silence(prom, "IsocenterDown", "IsocenterRestarting")
        for _ in range(4):
            service.kill()
            prom.process.wait_for(lambda: prom.value("up") == 0, 20, "the loss")
            service.start()
            prom.process.wait_for(lambda: prom.value("up") == 1, 20, "the return")
        self.expect(prom, "IsocenterRestarting", "within 15 minutes")
        prom.process.wait_for(lambda: "IsocenterDown" not in prom.firing(), 20, "all to be well")
        service.kill()
        self.expect(prom, "IsocenterDown", "no answer")

    def test_the_last_device_is_lost(self):
        self.lose_the_last_device("cpu0@3")

    def test_refused_for_want_of_memory(self):
        service = self.service(flags=["--memory_bytes", "4MiB"])
        prom = self.watched(service)
        self.expect_silence(prom, "IsocenterRefusing")
        time.sleep(3)  # of samples before the first refusal
        refused = isocenter.call("stream", self.bundle(), "--server", service.grpc, *support.GRID)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("iB of memory", refused.stderr)
        self.expect(prom, "IsocenterRefusing", "Refused", reason="resource_exhausted")

    def test_a_live_scan_that_fails(self):
        service = self.service()
        prom = self.watched(service)
        time.sleep(3)
        self.expect_silence(prom, "IsocenterLiveJobsFailing")
        failed = isocenter.call(
            "stream", self.bundle(), "--server", service.grpc, *support.GRID, "--skip-frames", "10-49"
        )
        self.assertIn("frames are missing", failed.stderr)
        self.expect(prom, "IsocenterLiveJobsFailing", "Failed live jobs")

    def test_refinements_that_fail(self):
        # Its deadline has passed before it can begin.
        service = self.service(
            config="protocol { name: \"late\" refinement { algorithm: REFINEMENT_ALGORITHM_OS_SART deadline_seconds: 0.001 } }"
        )
        prom = self.watched(service)
        self.expect_silence(prom, "IsocenterRefinementsFailing")
        for _ in range(3):
            self.stream(service, "--protocol", "late")
        self.expect(prom, "IsocenterRefinementsFailing", "Failed refinements")

    def test_a_full_spool(self):
        # One job takes 4.1 MB of it as long as it lasts: 100 frames of ten pages, and the acquisition.
        service = self.service(config="spool { capacity_bytes: 4300000 }")
        prom = self.watched(service)
        time.sleep(5)
        self.expect_silence(prom, "IsocenterSpoolFull", "IsocenterSpoolFilling")
        self.in_background(service, *support.GRID, *ONE_JOB_PAUSES)
        self.expect(prom, "IsocenterSpoolFull", "%")
        self.expect(prom, "IsocenterSpoolFilling", "in two hours")
        prom.process.wait_for(lambda: "IsocenterSpoolFull" not in prom.firing(), 60, "the job to end")

    def test_a_full_disk(self):
        """isocenterd with mounts of its own: its archive is on a disk of 60 MB that another program fills."""
        if subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True).returncode != 0:
            self.skipTest("a small disk cannot be mounted here")
        archive = self.folder / "service/archive"
        archive.mkdir(parents=True)
        mounting = (
            f'mount -t tmpfs -o size=60m none "{archive}" && '
            f'{{ (sleep 12; for i in $(seq 61); do head -c 1000000 /dev/zero >>"{archive}/filler"; sleep 0.1; done) & }} && '
            'exec "$0" "$@"'
        )
        service = self.service(wrapper=["unshare", "--mount", "sh", "-c", mounting])
        prom = self.watched(service)
        time.sleep(5)
        self.expect_silence(prom, "IsocenterDiskFull", "IsocenterDiskFilling")
        self.expect(prom, "IsocenterDiskFilling", "in three days", directory="archive")
        self.expect(prom, "IsocenterDiskFull", "are taken")
        refused = isocenter.call("stream", self.bundle(), "--server", service.grpc, *support.GRID)
        self.assertIn("bytes", refused.stderr)
        self.expect(prom, "IsocenterRefusing")

    def test_more_work_than_a_device_can_do(self):
        service = self.service(flags=["--threads", "1"])
        prom = self.watched(service)
        self.expect_silence(prom, "IsocenterQueueGrowing")
        for _ in range(10):
            self.in_background(service, "--grid", "256x256x256", "--voxel-mm", "0.75", "--class", "batch")
            time.sleep(1)
            if "IsocenterQueueGrowing" in prom.firing():
                break
        self.expect(prom, "IsocenterQueueGrowing", "chunks waited")

    def test_certificates_that_expire(self):
        openssl = support.need("openssl", "openssl")
        # The service does not start with one that has expired: this one does it while it runs.
        dated_certificate.issue(openssl, self.folder, "server", -60, SECONDS_OF_CERTIFICATE)
        service = self.service(
            tls={"certificate_file": self.folder / "server.pem", "private_key_file": self.folder / "server.key"}
        )
        prom = self.watched(service)
        self.expect(prom, "IsocenterCertificateExpiring", "valid for another", certificate="grpc_tls.certificate_file")
        self.expect_silence(prom, "IsocenterCertificateExpired")
        self.expect(prom, "IsocenterCertificateExpired", "It expired", certificate="grpc_tls.certificate_file")
        self.expect_silence(prom, "IsocenterCertificateExpiring")

    def test_a_pacs_that_is_down(self):
        storescp = support.need("storescp", "dcmtk")
        port = process.free_port()
        service = self.service(
            peers=[("PACS", port)],
            destinations=['ae_title: "PACS" first_retry_seconds: 0.2 longest_retry_seconds: 1'],
        )
        prom = self.watched(service)
        self.expect_silence(prom, "IsocenterDicomQueueStuck")
        self.stream(service)
        self.expect(prom, "IsocenterDicomQueueStuck", "waited", destination="PACS")
        # It comes back, and all is sent without anybody's doing.
        (self.folder / "pacs").mkdir()
        self.background([storescp, "-aet", "PACS", "-od", self.folder / "pacs", port], "storescp")
        prom.process.wait_for(lambda: "IsocenterDicomQueueStuck" not in prom.firing(), 60, "all to be sent")

    def test_a_pacs_that_does_not_take_our_images(self):
        storescp = support.need("storescp", "dcmtk")
        port = process.free_port()
        service = self.service(peers=[("PACS", port)], destinations=['ae_title: "PACS"'])
        # It knows C-ECHO only.
        (self.folder / "echo.cfg").write_text(
            "[[TransferSyntaxes]]\n[Plain]\nTransferSyntax1 = LittleEndianImplicit\n"
            "[[PresentationContexts]]\n[Echo]\nPresentationContext1 = VerificationSOPClass\\Plain\n"
            "[[Profiles]]\n[Default]\nPresentationContexts = Echo\n"
        )
        self.background([storescp, "-aet", "PACS", "-xf", self.folder / "echo.cfg", "Default", port], "storescp")
        prom = self.watched(service)
        self.stream(service)
        self.expect(prom, "IsocenterDicomSendFailed", "given up", destination="PACS")

    def test_a_machine_that_is_starved(self):
        """Stopped most of the time, as by a neighbour that takes the processor or a disk that hangs."""
        service = self.service()
        prom = self.watched(service)

        def is_as_usual():
            self.stream(service)
            late = {"IsocenterDeviceSlow", "IsocenterSlowAfterLastFrame", "IsocenterSlowAcknowledgement"}
            return (prom.value("isocenter:device_gups:samples_7d") or 0) > 30 and not late & set(prom.firing())

        # The machine of the test may be busy with other things.
        prom.process.wait_for(is_as_usual, 120, "a service that is as fast as usual")

        starving = threading.Event()

        def starve():
            while not starving.is_set():
                service.process.signal(signal.SIGSTOP)
                time.sleep(2.5)
                service.process.signal(signal.SIGCONT)
                time.sleep(0.15)

        def scan():
            while not starving.is_set():
                with contextlib.suppress(process.LabError):
                    self.stream(service)

        threads = [threading.Thread(target=work) for work in (starve, scan, scan)]
        for thread in threads:
            thread.start()
        try:
            self.expect(prom, "IsocenterDeviceSlow", "GUPS", device="cpu0")
            self.expect(prom, "IsocenterSlowAfterLastFrame", "after the last frame")
            self.expect(prom, "IsocenterSlowAcknowledgement", "in the spool")
        finally:
            starving.set()
            for thread in threads:
                thread.join()


if __name__ == "__main__":
    support.main()
