"""The dashboards of deploy/grafana: generated as they are, complete, and legible. What they show is tests/e2e's."""

import json
import re
import subprocess
import sys
import unittest

import support

FOLDER = support.ROOT / "deploy/grafana/dashboards"
UNITS = re.compile(r"none|s|bytes|percentunit|suffix: \S+")


class DashboardsTest(unittest.TestCase):
    def boards(self):
        files = sorted(FOLDER.glob("*.json"))
        self.assertEqual([file.stem for file in files], ["device", "dicom", "overview", "room"])
        for file in files:
            with self.subTest(file.name):
                yield json.loads(file.read_text())

    def test_they_are_what_the_generator_writes(self):
        done = subprocess.run(
            [sys.executable, "-B", support.ROOT / "tools/dev/dashboards.py", "--check"],
            capture_output=True, text=True, check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_grafana_needs_is_there(self):
        for board in self.boards():
            self.assertRegex(board["uid"], r"^isocenter-\w{1,29}$")
            self.assertEqual(board["style"], "dark")
            self.assertIn("isocenter", board["tags"])
            names = {variable["name"] for variable in board["templating"]["list"]}
            numbers = [panel["id"] for panel in board["panels"]]
            self.assertEqual(len(numbers), len(set(numbers)))
            for panel in board["panels"]:
                self.assertIn(panel["type"], ("timeseries", "stat", "table"))
                self.assertTrue(panel["targets"], panel["title"])
                self.assertRegex(panel["fieldConfig"]["defaults"]["unit"], UNITS, panel["title"])
                self.assertTrue(panel["fieldConfig"]["defaults"]["thresholds"]["steps"])
                for target in panel["targets"]:
                    self.assertEqual(target["datasource"]["uid"], "${datasource}")
                    used = set(re.findall(r"\$(\w+)", target["expr"])) - {"__rate_interval"}
                    self.assertLessEqual(used, names, f"{panel['title']}: unknown variables")
                    if panel["type"] == "timeseries" and " by (" in target["expr"]:
                        self.assertTrue(target["legendFormat"], f"{panel['title']}: lines without names")

    def test_no_panel_covers_another(self):
        for board in self.boards():
            taken = set()
            for panel in board["panels"]:
                place = panel["gridPos"]
                self.assertLessEqual(place["x"] + place["w"], 24, panel["title"])
                cells = {
                    (x, y)
                    for x in range(place["x"], place["x"] + place["w"])
                    for y in range(place["y"], place["y"] + place["h"])
                }
                self.assertFalse(cells & taken, panel["title"])
                taken |= cells


if __name__ == "__main__":
    support.main()
