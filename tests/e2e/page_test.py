"""The operator page in a browser, against the real server with real jobs."""

import hashlib
import json
import shutil
import signal
import unittest
import urllib.request

import page_browser
import support
from lab import isocenter, process
from page_browser import WEB, node

# Frames per second of scans that have to be seen: 100 frames take longer than a slow machine needs to look. HELD is for five browsers at
# once; a stream that sends nothing for a minute would be ended.
SLOW = 0.2
HELD = 0.1

# What fdk_then_ossart is called beside other volumes.
REFINED = "Refined: OS-SART, 5 iterations"

# Of storescp: a workstation that takes CT images and nothing else.
NEITHER_FORM = r"""
[[TransferSyntaxes]]
[Plain]
TransferSyntax1 = LocalEndianExplicit
TransferSyntax2 = LittleEndianImplicit
[[PresentationContexts]]
[Neither]
PresentationContext1 = VerificationSOPClass\Plain
PresentationContext2 = MRImageStorage\Plain
[[Profiles]]
[Default]
PresentationContexts = Neither
"""


def setUpModule():
    page_browser.start()


class PageTest(support.ServiceTest):
    scheme = "http"

    def step(self, service, step, *args):
        return ["node", WEB / "e2e" / "real.mjs", f"{self.scheme}://{service.web}/", step, *args]

    def see(self, service, step, *args):
        """What a step saw."""
        return self.see_all(service, (step, *args))[0]

    def see_all(self, service, first, *others):
        """What each of several steps saw, which are made at once."""
        more = [word for step in others for word in ("--", *step)]
        done = process.run([*self.step(service, *first), *more], seconds=900)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr + service.process.output()[-2000:])
        return json.loads(done.stdout.splitlines()[-1])

    def begin(self, service, step, *args):
        """A step that waits for what the test does next."""
        browser = self.background(self.step(service, step, *args), f"page-{step}")
        browser.wait_for(lambda: "waiting\n" in browser.output(), 600, "the page to be open")
        return browser

    def end(self, browser):
        self.assertEqual(browser.wait(900), 0, browser.output())
        return json.loads(browser.output().splitlines()[-1])[0]

    def check_types(self, service):
        """That the page's types say what the server answers now."""
        done = node("e2e/types.mjs", f"{self.scheme}://{service.web}/")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def room(self, name):
        """The small acquisition, as if from another room."""
        folder = self.folder / name
        shutil.copytree(self.bundle(), folder)
        header = folder / "acquisition.textproto"
        header.write_text(header.read_text().replace('"simulator"', f'"{name}"'))
        return folder

    def receiving(self, service, room, *options):
        """The job that receives from a room, or None."""
        jobs = json.loads(isocenter.must("jobs", "--json", "--server", service.grpc, *options))
        return next((job["job_id"] for job in jobs if job["state"] == "receiving" and job.get("station_name") == room), None)

    def send(self, service, room, *options):
        """Streams in the background."""
        argv = [isocenter.binary("isocenter"), "stream", self.room(room), "--server", service.grpc, *support.GRID, *options]
        return self.background(argv, f"stream-{room}")


class RealTest(PageTest):
    def test_a_job(self):
        service = self.service()
        job = self.stream(service)["job_id"]
        volume, timeline, _, overview = self.see_all(
            service, ("volume", job), ("timeline", job), ("details", job, "64 × 64 × 64"), ("overview", "simulator")
        )
        self.assertRegex(volume["middle"], r"^−?\d+\u202fHU$")
        self.assertEqual(volume["slice"], 32)
        self.assertEqual(volume["lengths"], "30.0")
        for mean in volume["means"]:
            self.assertGreater(mean, 5, "a plane is black")
        self.assertIn("backproject", timeline["stages"])
        self.assertEqual(overview["plots"], 6)
        self.assertRegex(overview["device"], r"cpu0.*Healthy.*GUPS.*Memory.*of")

    def test_the_first_visit_simulates_a_scan(self):
        service = self.service(web="simulated_scans: true")
        seen = self.see(service, "first")
        self.assertRegex(seen["turned"], r"^\d+° of 20[01]°$")
        self.assertGreater(seen["lit"], 0.05, "the skull is a twentieth of the picture at least")
        jobs = json.loads(isocenter.must("jobs", "--json", "--server", service.grpc))
        self.assertEqual([(job["station_name"], job["state"]) for job in jobs], [("simulator", "completed")])

    def test_two_rooms_scan_at_once(self):
        service = self.service()
        rooms = ("ROOM-1", "ROOM-2")
        browser = self.begin(service, "scans", *rooms)
        # Slower than any browser looks; what is left is sent at once when both have been seen.
        slow = [self.send(service, room, "--fps", SLOW) for room in rooms]
        browser.wait_for(lambda: "scanning\n" in browser.output(), 600, "both rooms to scan")
        self.check_types(service)
        for room, stream in zip(rooms, slow):
            stream.signal(signal.SIGKILL)
            stream.wait(60)
            isocenter.must("stream", self.folder / room, "--resume", self.receiving(service, room), "--server", service.grpc, *support.GRID)
        seen = self.end(browser)
        for room in rooms:
            text = " ".join(seen[room]["job"])
            self.assertRegex(text, r"[\d.]+\u202fGUPS", room)
            self.assertRegex(text, r"[\d.]+\u202fm?s", room)

    def test_a_pair_and_a_refinement(self):
        service = self.service()
        halves = [self.stream(service, "--pair", "p1", "--role", role)["job_id"] for role in ("mask", "fill")]
        isocenter.must("refine", halves[0], "--protocol", "fdk_then_ossart", "--wait", "--server", service.grpc, seconds=600)
        jobs = json.loads(isocenter.must("jobs", "--json", "--server", service.grpc))
        refined = next(job["job_id"] for job in jobs if job["protocol"] == "fdk_then_ossart")
        beside, timeline, _ = self.see_all(
            service,
            ("beside", halves[0], "Mask", "Fill", "Subtracted", REFINED),
            ("timeline", refined),
            ("details", refined, halves[0]),
        )
        self.assertEqual(beside["shown"], ["Mask", "Fill", "Subtracted", REFINED], beside)
        self.assertEqual(set(beside["slices"]), {"42"}, "they do not scroll together")
        self.assertEqual(len([mean for mean in beside["means"] if mean > 5]), 4, beside["means"])
        self.assertGreaterEqual(timeline["curves"], 1)
        self.check_types(service)

    def test_a_destination_that_is_down_then_picky_then_up(self):
        port = process.free_port()
        service = self.service(
            peers=[("WORKSTATION", port)],
            destinations=['ae_title: "WORKSTATION" first_retry_seconds: 0.2 longest_retry_seconds: 1'],
        )
        job = self.stream(service)["job_id"]
        self.assertIn("cannot", self.see(service, "waits", "WORKSTATION")["message"])
        self.check_types(service)
        picky = self.folder / "neither_form.cfg"
        picky.write_text(NEITHER_FORM)
        workstation = self.storescp(port, "-xf", picky, "Default")
        reason = "does not accept SOP class"
        self.assertIn(reason, self.see(service, "refused", "WORKSTATION", support.INSTANCES, reason)["message"])
        # Another one is there before anybody asks: the picky one would refuse what is sent again.
        workstation.stop()
        self.storescp(port)
        process.wait_until(lambda: process.listens(port), 60, "the workstation that takes all")
        retried = self.see(service, "retry", "WORKSTATION")
        self.assertEqual(retried["instances"], f"{support.INSTANCES} / {support.INSTANCES}")
        transfer = json.loads(isocenter.must("transfers", "--server", service.grpc, "--json"))[0]
        self.assertEqual((transfer["job_id"], transfer["state"]), (job, "sent"))

    def storescp(self, port, *options):
        tool = support.need("storescp", "dcmtk")
        folder = self.folder / "workstation"
        folder.mkdir(exist_ok=True)
        return self.background([tool, "-aet", "WORKSTATION", "-od", folder, *options, port], "storescp")

    def test_cancel(self):
        service = self.service()
        browser = self.begin(service, "cancel")
        stream = self.send(service, "ROOM-1", "--fps", SLOW)
        self.end(browser)
        self.assertEqual(stream.wait(300), 7)
        self.assertIn("the job was cancelled by this machine", stream.output())
        self.check_types(service)

    def test_the_server_goes_with_its_last_device_and_comes_back(self):
        service = self.service(flags=["--fault", "cpu0@2"])
        browser = self.begin(service, "gone")
        stream = self.send(service, "ROOM-1", "--fps", 20)
        self.assertEqual(service.process.wait(300), 3, service.process.output())
        browser.wait_for(lambda: "gone\n" in browser.output(), 600, "the page to say that the server is gone")
        service.flags.clear()
        service.start()
        self.end(browser)
        self.assertEqual(stream.wait(300), 0, stream.output())

    def test_drain_and_resume(self):
        service = self.service()
        self.see(service, "drain", "new filter in room 2")
        self.check_types(service)
        with self.assertRaisesRegex(process.LabError, "new filter in room 2"):
            self.stream(service)
        self.see(service, "resume")
        self.stream(service)

    def test_the_page_is_the_built_one(self):
        service = self.service()
        with urllib.request.urlopen(f"http://{service.web}/", timeout=60) as answer:
            self.assertEqual(answer.read(), (WEB / "dist" / "index.html").read_bytes())
            self.assertIn("default-src 'self'", answer.headers["Content-Security-Policy"])
        if (WEB / "dist" / "docs").exists():
            with urllib.request.urlopen(f"http://{service.web}/docs", timeout=60) as answer:
                self.assertEqual(answer.url, f"http://{service.web}/docs/")
                self.assertIn(b"<h1", answer.read())
            self.assertIn("Runbook", self.see(service, "docs", "IsocenterDeviceQuarantined")["heading"])


class RolesTest(PageTest):
    """Over TLS, with tokens and a client certificate."""

    scheme = "https"
    MAY = {
        "viewer": [],
        "console": ["Cancel job"],
        "operator": ["Cancel job", "Drain", "Retry"],
        "administrator": ["Cancel job", "Delete job", "Drain", "Retry"],
    }

    def openssl(self, *argv):
        done = process.run([support.need("openssl", "openssl"), *argv], cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)

    def certificates(self):
        key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        for name in ("server", "staff"):
            self.openssl("req", "-x509", *key, "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}")
        self.openssl("req", *key, "-keyout", "ward3.key", "-out", "ward3.csr", "-subj", "/O=Hospital/CN=ward 3")
        self.openssl("x509", "-req", "-in", "ward3.csr", "-CA", "staff.pem", "-CAkey", "staff.key", "-CAcreateserial", "-out", "ward3.pem")

    def begin_may(self, service, token, receiving, ended, buttons, env=None):
        """Who comes with that token, or with the certificate of `env`, looks at every page."""
        child = process.Process(
            self.step(service, "may", token, receiving, ended, ",".join(buttons)), self.folder / f"page-may-{token or 'certificate'}.log", env=env
        )
        self.addCleanup(child.stop)
        return child

    def test_each_role_sees_what_it_may(self):
        self.certificates()
        tokens = self.folder / "tokens"
        digests = {role: hashlib.sha256(f"{role}-token".encode()).hexdigest() for role in self.MAY}
        tokens.write_text("".join(f"{role} {digest} the {role}\n" for role, digest in digests.items()))
        tokens.chmod(0o640)
        port = process.free_port()
        service = self.service(
            web=f'tls {{ certificate_file: "{self.folder}/server.pem" private_key_file: "{self.folder}/server.key" '
            f'client_ca_file: "{self.folder}/staff.pem" }} tokens_file: "{tokens}" '
            'certificate { subject: "CN=ward 3,O=Hospital" role: WEB_ROLE_OPERATOR }',
            peers=[("WORKSTATION", port)],
            destinations=['ae_title: "WORKSTATION" first_retry_seconds: 0.2 longest_retry_seconds: 1'],
        )
        console = self.folder / "console-token"
        console.write_text("console-token\n")
        ended = self.stream(service, "--token-file", console)["job_id"]
        picky = self.folder / "neither_form.cfg"
        picky.write_text(NEITHER_FORM)
        folder = self.folder / "workstation"
        folder.mkdir()
        self.background([support.need("storescp", "dcmtk"), "-od", folder, "-xf", picky, "Default", port], "storescp")
        flags = ("--token-file", console, "--server", service.grpc)

        def refused():
            return json.loads(isocenter.must("transfers", "--json", *flags))[0]["failed_count"] > 0

        process.wait_until(refused, 300, "an instance that is refused for good")
        stream = self.send(service, "ROOM-1", "--fps", HELD, "--token-file", console)
        receiving = stream.wait_for(lambda: self.receiving(service, "ROOM-1", "--token-file", console), 300, "a job that receives")
        certificate = {"ISOCENTER_PAGE_CERTIFICATE": str(self.folder / "ward3")}
        browsers = {
            f"the {role}, {role}": (buttons, self.begin_may(service, f"{role}-token", receiving, ended, buttons)) for role, buttons in self.MAY.items()
        }
        buttons = self.MAY["operator"]
        browsers["CN=ward 3,O=Hospital, operator"] = buttons, self.begin_may(service, "", receiving, ended, buttons, certificate)
        for who, (buttons, browser) in browsers.items():
            with self.subTest(who=who):
                self.assertEqual(self.end(browser), {"who": who, "buttons": buttons})
        stream.stop()


if __name__ == "__main__":
    support.main()
