"""Every PromQL expression that we ship, run by a real Prometheus that scrapes a real service under load."""

import json
import math
import re
import threading

import support
from lab import process, prometheus

DASHBOARDS = support.ROOT / "deploy/grafana/dashboards"
VARIABLES = {
    "$instance": ".*",
    "$device": ".*",
    "$station": ".*",
    "$destination": ".*",
    # Longer than any scan takes, on a slow machine too: a histogram has no quantiles of a time without events.
    "$__rate_interval": "2m",
}
# Expressions with these may be empty here, and why.
MAY_BE_EMPTY = {
    "ALERTS{": "nothing is wrong",
    "isocenter_tokens_file_ok": "nobody needs a token here; e2e_web does, and reads it",
    "isocenter_quality_": "no phantom is scanned here; e2e_qa does, and reads them",
    **dict.fromkeys(
        ("isocenter_keeper_", "isocenter_replica", "isocenter_orphaned_replicas", "isocenter_taken_over_jobs"),
        "one node keeps no copies; e2e_replication and e2e_cluster_shown do, and read them",
    ),
}
SECONDS_OF_LOAD = 20


def reason_to_be_empty(expression):
    return next((why for text, why in MAY_BE_EMPTY.items() if text in expression), None)


def filled_in(expression):
    for variable, value in VARIABLES.items():
        expression = expression.replace(variable, value)
    if "$" in expression:
        raise AssertionError(f"{expression}: a variable that the test does not know")
    return expression


def dashboard_expressions():
    """(where, expression) of every panel, annotation and variable."""
    for file in sorted(DASHBOARDS.glob("*.json")):
        board = json.loads(file.read_text())
        for panel in board["panels"]:
            for target in panel["targets"]:
                yield f"{file.name}: {panel['title']}", target["expr"]
        for note in board["annotations"]["list"]:
            yield f"{file.name}: annotation", note["expr"]
        for variable in board["templating"]["list"]:
            if variable["type"] == "query":
                yield f"{file.name}: ${variable['name']}", re.fullmatch(
                    r"label_values\((.*), \w+\)", variable["query"]["query"]
                )[1]


def selectors(expression):
    """The series that an expression reads, without functions and operators."""
    return set(re.findall(r"\b(?:isocenter[:_][\w:]+|process_\w+|up)(?:\{[^}]*\})?", expression))


class DashboardsTest(support.ServiceTest):
    def load(self, service):
        """Scans, refinements and DICOM until `enough` is set."""
        enough = threading.Event()
        failures = []

        def scan():
            try:
                self.stream(service, "--protocol", "fdk_then_ossart")
                while not enough.is_set():
                    self.stream(service)
            except process.LabError as error:
                failures.append(error)

        thread = threading.Thread(target=scan)
        thread.start()

        def end():
            enough.set()
            thread.join()
            if failures:
                raise failures[0]

        return end

    def service_with_a_pacs(self):
        """A certificate, a destination that takes every result, somebody to tell of procedure steps, and an audit trail."""
        openssl, storescp = support.need("openssl", "openssl"), support.need("storescp", "dcmtk")
        files = [self.folder / "node.pem", self.folder / "node.key"]
        done = process.run(
            [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "90", "-subj", "/CN=node"]
            + ["-out", files[0], "-keyout", files[1]]
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        port = process.free_port()
        # It listens on every address: private_net.sh gives the test a network of its own.
        self.background([storescp, "-aet", "PACS", "--ignore", port], "storescp")
        return self.service(
            config=f'audit {{ file: "{self.folder / "audit.jsonl"}" }}',
            peers=[("PACS", port)],
            destinations=['ae_title: "PACS"'],
            dicom=f'tls_port: {process.free_port()} tls {{ certificate_file: "{files[0]}" private_key_file: "{files[1]}" '
            'anonymous_callers: true } mpps { peer: "PACS" }',
        )

    def test_every_expression_returns_data(self):
        self.bundle()
        service = self.service_with_a_pacs()
        prom = prometheus.Prometheus(self.folder / "prometheus", [service.metrics], rules=True)
        self.addCleanup(prom.stop)
        prom.start()
        end = self.load(service)
        try:
            echo = support.need("echoscu", "dcmtk")
            self.assertEqual(process.run([echo, "127.0.0.1", service.dicom_port]).returncode, 0)
            prom.process.wait_for(
                lambda: (prom.value('isocenter_refinements_total{outcome="completed"}') or 0) >= 1, 120, "a refinement"
            )
            prom.process.wait_for(
                lambda: (prom.value("count_over_time(up[10m])") or 0) >= SECONDS_OF_LOAD, 240, "some time under load"
            )
            prom.process.wait_for(
                lambda: (prom.value('isocenter_dicom_send_total{event="sent"}') or 0) > 0, 120, "images at the PACS"
            )
            moment = prom.steady_moment()
            self.check_dashboards(prom, moment)
            self.check_rules(prom, moment)
        finally:
            end()

    def check_dashboards(self, prom, moment):
        count = 0
        for where, expression in dashboard_expressions():
            with self.subTest(where, expression=expression):
                count += 1
                found = prom.series(filled_in(expression), moment)
                if reason_to_be_empty(expression):
                    continue
                self.assertTrue(found, "no data")
                self.assertTrue(any(math.isfinite(value) for _, value in found), f"nothing finite: {found}")
        self.assertGreater(count, 50)

    def check_rules(self, prom, moment):
        kinds = {"alerting": 0, "recording": 0}
        for rule in prom.rule_list():
            kinds[rule["type"]] += 1
            with self.subTest(rule["name"]):
                self.assertEqual(rule["health"], "ok", rule.get("lastError"))
                if rule["type"] == "recording":
                    found = prom.series(rule["name"], moment)
                    self.assertTrue(any(math.isfinite(value) for _, value in found), f"{rule['query']}: {found}")
                    continue
                for selector in selectors(rule["query"]):
                    if not reason_to_be_empty(selector):
                        self.assertTrue(prom.series(selector, moment), f"{selector} has no series; it can never fire")
        self.assertGreater(min(kinds.values()), 15)
        # Nothing is wrong with this service, but that it is a busy machine's.
        self.assertLessEqual(
            set(prom.firing()),
            {"IsocenterQueueGrowing", "IsocenterSlowAfterLastFrame", "IsocenterSlowAcknowledgement", "IsocenterDiskFull"},
        )


if __name__ == "__main__":
    support.main()
