"""A real Prometheus scrapes the service, and its queries return what happened."""

import time
import urllib.request

import support
from lab import process, prometheus


class PrometheusTest(support.ServiceTest):
    def metrics(self, service):
        with urllib.request.urlopen(f"http://{service.metrics}/metrics", timeout=60) as answer:
            return answer.read().decode()

    def test_queries_return_what_happened(self):
        service = self.service()
        prom = prometheus.Prometheus(self.folder / "prometheus", [service.metrics])
        self.addCleanup(prom.stop)
        prom.start()
        self.stream(service)
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
        # Who streams has the result a moment before it is counted. A scrape that begins after all of it has all of it.
        prom.process.wait_for(lambda: prom.value("isocenter_recent_job_kernel_gups"), 120, "the job's end")
        seen = time.time()
        prom.process.wait_for(lambda: (prom.value("timestamp(up) and up == 1") or 0) > seen, 120, "another scrape")
        moment = prom.steady_moment()
        found = {expression: next((value for _, value in prom.series(expression, moment)), None) for expression in wanted}
        self.assertEqual(found, wanted)

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
