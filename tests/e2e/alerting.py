"""What tests of alerts share: a Prometheus with our rules, whose durations are short enough to wait for."""

import contextlib
import threading

import support
from lab import isocenter, process, prometheus

# Durations of `for` are left out and windows shortened, so that minutes become seconds.
SHORTER = [
    (r"(?m)^        for: \w+\n", ""),
    (r"\[10m\]|\[5m\]", "[8s]"),
    (r"\[30m\]|\[6h\]", "[15s]"),
    (r"\[15m\]|\[1h\]", "[60s]"),
    (r"expr: vector\(900\)", "expr: vector(5)"),
    # Room for a machine that is busy with other tests.
    (r"expr: vector\(1\)", "expr: vector(2)"),
    # An hour of computing, before a device has a usual speed.
    (r"samples_7d > 240", "samples_7d > 10"),
    (r"no_device_time_seconds < 900", "no_device_time_seconds < 30"),
]
WITHIN_SECONDS = 60


class AlertsTest(support.ServiceTest):
    def watched(self, *services):
        prom = prometheus.Prometheus(
            self.folder / "prometheus", [service.metrics for service in services], rules=True, edits=SHORTER
        )
        self.addCleanup(prom.stop)
        prom.start()
        # Rules that ran before the first scrape saw nothing.
        prom.process.wait_for(lambda: "IsocenterDown" not in prom.firing(), 20, "rules that have seen the service")
        return prom

    def expect(self, prom, alert, *words, **labels):
        """Waits until the alert fires; its description has the words."""
        fired = prom.process.wait_for(lambda: prom.firing(**labels).get(alert), WITHIN_SECONDS, f"{alert} to fire")
        for word in words:
            self.assertIn(word, fired["annotations"]["description"])
        self.assertEqual(fired["annotations"]["runbook_url"], f"http://127.0.0.1:8080/docs/runbook.html#{alert.lower()}")

    def expect_end(self, prom, *alerts):
        """Waits until none of them fires."""
        prom.process.wait_for(lambda: not set(alerts) & set(prom.firing()), WITHIN_SECONDS, f"{alerts} to end")

    def expect_silence(self, prom, *alerts):
        self.assertFalse(set(alerts) & set(prom.firing()))

    def in_background(self, service, *options):
        """A scan that goes on while the test does; joined at the end, whatever becomes of it."""

        def scan():
            with contextlib.suppress(process.LabError):
                isocenter.must("stream", self.bundle(), "--server", service.grpc, *options, seconds=120)

        self.bundle()
        thread = threading.Thread(target=scan)
        thread.start()
        self.addCleanup(thread.join)
        return thread

    def lose_the_last_device(self, fault, *flags):
        """The service ends by itself; started again, it completes the scan, and the alert tells of what was."""
        service = self.service(flags=["--fault", fault, *flags])
        prom = self.watched(service)
        self.expect_silence(prom, "IsocenterNoDevice")
        self.in_background(service, *support.GRID, "--fps", 50)
        self.assertEqual(service.process.wait(30), 3)
        self.expect(prom, "IsocenterDown")
        service.flags = list(flags)
        service.start()
        self.expect(prom, "IsocenterNoDevice", "ago the last device failed")
        self.expect_end(prom, "IsocenterDown")
        prom.process.wait_for(
            lambda: prom.value('isocenter_jobs_total{outcome="completed",class="live"}') == 1, 60, "the volume"
        )
        self.expect_end(prom, "IsocenterNoDevice")
