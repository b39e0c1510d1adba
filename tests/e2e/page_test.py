"""The console page in a browser: against a mock of the server, and against the real one with a real job."""

import json
import shutil
import subprocess
import unittest
import urllib.request

import support
from lab import process

WEB = support.ROOT / "web"


def setUpModule():
    for tool, package in (("node", "nodejs"), ("chromium", "chromium")):
        if shutil.which(tool) is None:
            raise unittest.SkipTest(f"{tool} is not on this machine (package {package})")
    if not (WEB / "dist" / "index.html").exists() or not (WEB / "node_modules" / "playwright-core").exists():
        raise unittest.SkipTest("the console page is not built: ./dev page")


def node(*argv, seconds=240):
    return subprocess.run(["node", *map(str, argv)], cwd=WEB, capture_output=True, text=True, timeout=seconds, check=False)


class MockTest(unittest.TestCase):
    def test_what_people_do(self):
        done = node("e2e/run.mjs")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class RealTest(support.ServiceTest):
    def see(self, service, step, *args):
        done = node("e2e/real.mjs", f"http://{service.web}/", step, *args)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr + service.process.output()[-2000:])
        return json.loads(done.stdout)

    def test_a_job(self):
        service = self.service()
        job = self.stream(service)["job_id"]
        self.assertEqual(self.see(service, "overview", "simulator")["plots"], 6)
        volume = self.see(service, "volume", job)
        self.assertRegex(volume["middle"], r"^−?\d+\u202fHU$")
        self.assertEqual(volume["slice"], 32)
        for mean in volume["means"]:
            self.assertGreater(mean, 5, "a plane is black")
        self.assertIn("backproject", self.see(service, "timeline", job)["stages"])
        self.see(service, "details", job, "64 × 64 × 64")

    def test_the_mock_has_the_shape_of_the_server(self):
        service = self.service()
        job = self.stream(service)["job_id"]
        done = node("e2e/shapes.mjs", f"http://{service.web}/", job)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_drain_and_resume(self):
        service = self.service()
        self.see(service, "drain", "new filter in room 2")
        with self.assertRaisesRegex(process.LabError, "new filter in room 2"):
            self.stream(service)
        self.see(service, "resume")
        self.stream(service)

    def test_the_page_is_the_built_one(self):
        service = self.service()
        with urllib.request.urlopen(f"http://{service.web}/", timeout=10) as answer:
            self.assertEqual(answer.read(), (WEB / "dist" / "index.html").read_bytes())
            self.assertIn("default-src 'self'", answer.headers["Content-Security-Policy"])


if __name__ == "__main__":
    support.main()
