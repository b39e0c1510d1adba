"""A real Prometheus scrapes the service, and its queries return what happened."""

import urllib.request

import support
from lab import process, prometheus


class PrometheusTest(support.ServiceTest):
    def metrics(self, service):
        with urllib.request.urlopen(f"http://{service.metrics}/metrics", timeout=10) as answer:
            return answer.read().decode()

    def test_queries_return_what_happened(self):
        service = self.service()
        prom = prometheus.Prometheus(self.folder / "prometheus", [service.metrics])
        self.addCleanup(prom.stop)
        prom.start()
        self.stream(service)
        prom.process.wait_for(lambda: prom.value("isocenter_received_frames_total") == 100, 30, "100 frames")
        wanted = {
            "sum(isocenter_accepted_jobs_total)": 1,
            'isocenter_jobs_total{outcome="completed",class="live"}': 1,
            "sum(isocenter_jobs_total)": 1,
            'isocenter_jobs{state="completed",class="live"}': 1,
            "isocenter_received_bytes_total": 100 * 155 * 120 * 2,
            "isocenter_kernel_gups_count": 1,
            "isocenter_whole_gups_count": 1,
            "isocenter_after_last_frame_seconds_count": 1,
            'isocenter_stage_duration_seconds_count{stage="backproject"}': 1,
            'isocenter_stage_duration_seconds_count{stage="export"}': 1,
            "isocenter_queue_depth": 0,
            "count(isocenter_recent_job_kernel_gups > 0)": 1,
        }
        prom.process.wait_for(lambda: prom.value("sum(isocenter_jobs_total)") == 1, 30, "the job's end")
        self.assertEqual({expression: prom.value(expression) for expression in wanted}, wanted)

    def test_exposition_is_clean(self):
        promtool = support.need("promtool", "prometheus")
        service = self.service()
        self.stream(service)
        file = self.folder / "metrics.txt"
        file.write_text(self.metrics(service))
        done = process.run(["sh", "-c", f'"{promtool}" check metrics <"{file}"'])
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_no_patient_data(self):
        service = self.service()
        self.stream(service)
        for text in (self.metrics(service), service.process.output()):
            for secret in ("Test^Head", support.PATIENT_ID, support.ACCESSION):
                self.assertNotIn(secret, text)


if __name__ == "__main__":
    support.main()
