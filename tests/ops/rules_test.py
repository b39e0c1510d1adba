"""The rules of deploy/prometheus: what promtool says, and that no alert is without test, runbook section and dashboard."""

import re
import shutil
import subprocess
import unittest

import support

RULES = support.ROOT / "deploy/prometheus"
CASES = support.ROOT / "tests/ops/alerts_test.yml"
RUNBOOK = support.ROOT / "docs/runbook.md"
DASHBOARDS = support.ROOT / "deploy/grafana/dashboards"


def alerts():
    """{name: text of its rule}"""
    text = (RULES / "alerts.rules.yml").read_text()
    return {part.split("\n", 1)[0].strip(): part for part in text.split("- alert: ")[1:]}


def address(label):
    """How an annotation names an address of the site, as a regular expression."""
    return re.escape('{{ with query "isocenter:site:info" }}{{ . | first | label "' + label + '" }}{{ end }}')


class RulesTest(unittest.TestCase):
    def promtool(self, *arguments):
        if shutil.which("promtool") is None:
            self.skipTest("promtool is not installed (package prometheus)")
        done = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_configuration_and_rules_are_valid(self):
        self.promtool("check", "config", RULES / "prometheus.yml")

    def test_alerts_fire_where_they_must(self):
        self.promtool("test", "rules", CASES)

    def test_every_alert_has_a_case_that_fires_and_one_that_does_not(self):
        cases = re.findall(r"alertname: (\w+)\n\s+exp_alerts:( \[\])?", CASES.read_text())
        fires = {name for name, nothing in cases if not nothing}
        silent = {name for name, nothing in cases if nothing}
        self.assertEqual(set(alerts()) - fires, set(), "without a case that fires")
        self.assertEqual(set(alerts()) - silent, set(), "without a case that does not")

    def test_every_alert_says_what_to_do(self):
        anchors = {heading.lower() for heading in re.findall(r"(?m)^### (Isocenter\w+)$", RUNBOOK.read_text())}
        boards = {file.stem for file in DASHBOARDS.glob("*.json")}
        for name, rule in alerts().items():
            with self.subTest(name):
                self.assertRegex(rule, r"severity: (critical|warning)\n")
                self.assertRegex(rule, r'summary: ".+"\n')
                self.assertRegex(rule, r'description: ".*(\$value|no answer).*"\n')
                # Where the documentation and Grafana are is the site's: targets.rules.yml.
                self.assertRegex(rule, rf"runbook_url: '{address('docs_url')}/runbook\.html#{name.lower()}'\n")
                self.assertIn(name.lower(), anchors, "no section in docs/runbook.md")
                self.assertIn(re.search(rf"dashboard: '{address('grafana_url')}/d/isocenter-(\w+)", rule)[1], boards)
        self.assertEqual(anchors - {name.lower() for name in alerts()}, set(), "sections of alerts that do not exist")

    def test_rules_read_only_metrics_that_are_documented(self):
        documented = (support.ROOT / "docs/metrics.md").read_text()
        for file in RULES.glob("*.rules.yml"):
            for name in set(re.findall(r"\b(?:isocenter|process)_[a-z_0-9]+", file.read_text())):
                plain = re.sub(r"_(bucket|sum|count)$", "", name)
                if not re.search(rf"name: {plain}\n", file.read_text()):
                    self.assertIn(f"`{plain}", documented, f"{file.name} reads {name}")


if __name__ == "__main__":
    support.main()
