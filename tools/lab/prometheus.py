"""A real Prometheus on loopback that scrapes services, with the rules that we ship or none."""

import http.client
import json
import pathlib
import re
import urllib.error
import urllib.parse
import urllib.request

from lab import process

RULES = pathlib.Path(__file__).resolve().parents[2] / "deploy/prometheus"


class Prometheus:
    """Scrapes and evaluates every second. `edits` are (regular expression, replacement) for the text of our rules."""

    def __init__(self, folder, targets, rules=False, edits=()):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.targets, self.rules, self.edits = list(targets), rules, list(edits)
        self.port = process.free_port()
        self.process = None

    def _write_config(self):
        lines = ["global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}"]
        if self.rules:
            lines.append("rule_files: [%s]" % ", ".join(sorted(f.name for f in RULES.glob("*.rules.yml"))))
            for file in RULES.glob("*.rules.yml"):
                text = re.sub(r"(?m)^    interval: \w+$", "    interval: 1s", file.read_text())
                for pattern, replacement in self.edits:
                    text = re.sub(pattern, replacement, text)
                (self.folder / file.name).write_text(text)
        quoted = ", ".join(f"'{target}'" for target in self.targets)
        lines.append(f"scrape_configs:\n  - {{job_name: isocenter, static_configs: [{{targets: [{quoted}]}}]}}")
        config = self.folder / "prometheus.yml"
        config.write_text("\n".join(lines) + "\n")
        return config

    def start(self):
        config = self._write_config()
        self.process = process.Process(
            [process.find_tool("prometheus", "prometheus"), f"--config.file={config}"]
            + [f"--web.listen-address=127.0.0.1:{self.port}", f"--storage.tsdb.path={self.folder / 'tsdb'}"],
            self.folder / "prometheus.log",
        )
        self.process.wait_for(lambda: self._answers("up"), 120, "a first scrape")
        return self

    def _answers(self, expression):
        try:
            return self.series(expression)
        except (OSError, http.client.HTTPException, process.LabError):
            return None

    def get(self, path, **parameters):
        """The field `data` of an answer of the HTTP API. LabError with Prometheus's words when it refuses."""
        address = f"http://127.0.0.1:{self.port}/api/v1/{path}?" + urllib.parse.urlencode(parameters)
        try:
            with urllib.request.urlopen(address, timeout=60) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise process.LabError(f"Prometheus refused {parameters}: {error.read().decode()}") from None

    def series(self, expression, at=None):
        """[(labels, value)] of a query at an instant, now if none is given; a scalar is a series without labels."""
        data = self.get("query", query=expression, **({} if at is None else {"time": at}))
        if data["resultType"] == "scalar":
            return [({}, float(data["result"][1]))]
        return [(series["metric"], float(series["value"][1])) for series in data["result"]]

    def value(self, expression):
        """The first series' value; None where there is none."""
        found = self.series(expression)
        return found[0][1] if found else None

    def steady_moment(self):
        """When the last scrape was made, once it and those before it have succeeded. A scrape that takes longer than its second, on
        a machine that is busy, ends all series until the next one."""
        return self.process.wait_for(
            lambda: self.value("timestamp(up) and (min_over_time(up[4s]) == 1) and (count_over_time(up[4s]) >= 3)"),
            120,
            "scrapes that succeed one after the other",
        )

    def rule_list(self):
        """The rules that it has loaded, as its API describes them."""
        return [rule for group in self.get("rules")["groups"] for rule in group["rules"]]

    def firing(self, **labels):
        """{name: alert} of what fires, of those with these labels."""
        return {
            alert["labels"]["alertname"]: alert
            for alert in self.get("alerts")["alerts"]
            if alert["state"] == "firing" and labels.items() <= alert["labels"].items()
        }

    def stop(self):
        if self.process:
            self.process.stop()
