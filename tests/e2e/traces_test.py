"""Jobs as spans of a distributed trace, at a collector that takes OTLP over HTTP."""

import http.server
import json
import threading
import urllib.request

import support
from lab import isocenter, orthanc, process

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CONSOLE = "00f067aa0ba902b7"


class Collector:
    """Keeps the spans that it is sent; answers with `answer`."""

    def __init__(self, answer=200):
        self.spans, self.headers, self.answer = [], [], answer
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if collector.answer == 200:
                    collector.headers.append(dict(self.headers))
                    for resource in body["resourceSpans"]:
                        names = {a["key"]: a["value"].get("stringValue") for a in resource["resource"]["attributes"]}
                        for scope in resource["scopeSpans"]:
                            collector.spans += [span | {"service": names["service.name"]} for span in scope["spans"]]
                self.send_response(collector.answer)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}/v1/traces"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def named(self, name):
        return [span for span in self.spans if span["name"] == name]


def counted(service):
    with urllib.request.urlopen(f"http://{service.metrics}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    prefix = 'isocenter_trace_spans_total{outcome="'
    return {line[len(prefix) :].split('"')[0]: float(line.split()[-1]) for line in lines if line.startswith(prefix)}


class TracesTest(support.ServiceTest):
    def traced(self, collector, fields="", **options):
        return self.service(config=f'traces {{ endpoint: "{collector.endpoint}" {fields} }}', **options)

    def collector(self, **options):
        collector = Collector(**options)
        self.addCleanup(collector.stop)
        return collector

    def test_from_the_console_to_the_pacs(self):
        support.need("Orthanc", "orthanc")
        collector, pacs_port = self.collector(), process.free_port()
        secret = self.folder / "headers"
        secret.write_text("Authorization: Bearer 7\n")
        secret.chmod(0o600)
        service = self.traced(
            collector,
            f'headers_file: "{secret}"',
            peers=[(orthanc.AE_TITLE, pacs_port)],
            destinations=[f'ae_title: "{orthanc.AE_TITLE}" first_retry_seconds: 0.1'],
        )
        self.orthanc(service, pacs_port)
        result = self.stream(service, "--traceparent", f"00-{TRACE}-{CONSOLE}-01")
        process.wait_until(lambda: collector.named(f"send to {orthanc.AE_TITLE}"), 120, "the span of sending")
        process.wait_until(lambda: collector.named("acquisition"), 60, "the span of the job")
        self.assertEqual({span["traceId"] for span in collector.spans}, {TRACE})
        self.assertEqual({span["service"] for span in collector.spans}, {"isocenter"})
        self.assertEqual(collector.headers[0]["Authorization"], "Bearer 7")
        (job,) = collector.named("acquisition")
        self.assertEqual(job["parentSpanId"], CONSOLE)
        said = {a["key"]: a["value"] for a in job["attributes"]}
        self.assertEqual(said["isocenter.job_id"]["stringValue"], result["job_id"])
        self.assertEqual(said["isocenter.frames"]["intValue"], "100")
        self.assertNotIn("Test^Head", json.dumps(collector.spans))
        for name in ("receive", "export", "send to ORTHANC"):
            (span,) = collector.named(name)
            self.assertEqual(span["parentSpanId"], job["spanId"], name)
            self.assertGreaterEqual(int(span["endTimeUnixNano"]), int(span["startTimeUnixNano"]), name)
        # What the devices did lies within the job, to what two clocks differ by.
        (device,) = collector.named("device 0 backproject")
        slack = 50_000_000
        self.assertGreaterEqual(int(device["startTimeUnixNano"]), int(job["startTimeUnixNano"]) - slack)
        self.assertLessEqual(int(device["endTimeUnixNano"]), int(job["endTimeUnixNano"]) + slack)
        self.assertEqual(counted(service), {"exported": len(collector.spans), "dropped": 0})
        told = isocenter.must("trace", result["job_id"], "--server", service.grpc, "--out", self.folder / "t.json")
        self.assertIn(TRACE, told)
        kept = support.read_json(self.folder / "t.json")
        self.assertGreater(kept["otherData"]["begin_unix_us"], 1.7e15)

    def test_flags_and_ratio_are_honoured(self):
        collector = self.collector()
        service = self.traced(collector, "sample_ratio: 0")
        self.stream(service, "--traceparent", f"00-{TRACE}-{CONSOLE}-00")
        self.stream(service)
        self.stream(service, "--traceparent", f"00-{TRACE}-{CONSOLE}-01")
        process.wait_until(lambda: collector.named("acquisition"), 60, "the span of the third job")
        self.assertEqual(len(collector.named("acquisition")), 1)

    def test_a_trace_of_its_own(self):
        collector = self.collector()
        service = self.traced(collector)
        self.stream(service)
        process.wait_until(lambda: collector.named("acquisition"), 60, "the span of the job")
        (job,) = collector.named("acquisition")
        self.assertNotIn("parentSpanId", job)
        self.assertEqual({span["traceId"] for span in collector.spans}, {job["traceId"]})

    def test_a_collector_that_is_ill_costs_no_scan(self):
        collector = self.collector(answer=503)
        service = self.traced(collector)
        self.stream(service)
        self.assertEqual(collector.spans, [])
        collector.answer = 200
        process.wait_until(lambda: collector.named("acquisition"), 120, "the span, once the collector is well")
        # What it does not want is dropped, not tried again.
        collector.answer = 400
        self.stream(service)
        process.wait_until(lambda: counted(service)["dropped"] > 0, 60, "dropped spans")
        self.assertEqual(len(collector.named("acquisition")), 1)

    def test_what_is_wrong_is_said(self):
        done = isocenter.call("stream", self.bundle(), "--server", "127.0.0.1:1", "--traceparent", "00-1-2-3")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("'00-1-2-3'; legal is", done.stderr)
        for fields, said in (
            ('endpoint: "collector:4318"', "traces.endpoint is 'collector:4318'"),
            ('endpoint: "http://a" sample_ratio: 1.5', "traces.sample_ratio is 1.5"),
            ('endpoint: "https://a" headers_file: "/nowhere"', "traces.headers_file"),
            ('endpoint: "http://a" headers_file: "/nowhere"', "traces.endpoint is 'http://a'; legal is https://"),
        ):
            config = self.folder / "wrong.textproto"
            config.write_text(f"traces {{ {fields} }}")
            done = process.run([isocenter.binary("isocenterd"), "--config", config, "--check"])
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    support.main()
