"""Results go to Orthanc's DICOMweb plugin by STOW-RS, by themselves; whatever happens on the way."""

import http.client
import http.server
import io
import json
import pathlib
import random
import ssl
import threading
import time
import urllib.request

import support
from lab import certificates, isocenter, orthanc, process

try:
    import pydicom
except ImportError:
    pydicom = None

PLUGIN = pathlib.Path("/usr/share/orthanc/plugins/libOrthancDicomWeb.so")
FAST = "first_retry_seconds: 0.1 longest_retry_seconds: 1"


class Gate:
    """What stands before a web server in a hospital: lets in who has the token, over TLS where there is a context."""

    def __init__(self, port, token=None, tls=None, seconds=0):
        self.token, self.seconds = token, seconds
        self.answered = []  # the SOP Instance UIDs of each request that went through
        self.received = []  # of each that came, whatever became of it
        self.refused = 0
        gate = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def may_enter(self):
                if gate.token is None or self.headers["Authorization"] == f"Bearer {gate.token}":
                    return True
                gate.refused += 1
                self.close_connection = True
                self.send_response(401)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return False

            def handle_expect_100(self):
                return self.may_enter() and super().handle_expect_100()

            def do_POST(self):
                expected = self.headers["Expect"] is not None
                if not expected and not self.may_enter():
                    return
                body = self.rfile.read(int(self.headers["Content-Length"]))
                uids = uids_of(body)
                gate.received.append(uids)
                time.sleep(gate.seconds)
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
                headers = {name: self.headers[name] for name in ("Content-Type", "Accept")}
                connection.request("POST", self.path, body, headers)
                answer = connection.getresponse()
                text = answer.read()
                connection.close()
                gate.answered.append(uids)
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.headers["Content-Type"])
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *_: None  # a client that was killed
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.address = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def uids_of(body):
    """Of a multipart body of DICOM files."""
    boundary = body[: body.index(b"\r\n")]
    parts = (b"\r\n" + body).split(b"\r\n" + boundary)[1:-1]
    files = (part.partition(b"\r\n\r\n")[2] for part in parts)
    return [str(pydicom.dcmread(io.BytesIO(file), stop_before_pixels=True).SOPInstanceUID) for file in files]


class StowTest(support.ServiceTest):
    def setUp(self):
        super().setUp()
        support.need("Orthanc", "orthanc")
        if not PLUGIN.exists() or pydicom is None:
            self.skipTest("orthanc-dicomweb or python3-pydicom is not installed")
        self.pacs = orthanc.Orthanc(
            self.folder / "orthanc", process.free_port(), settings={"Plugins": [str(PLUGIN)], "DicomWeb": {"Enable": True}}
        )
        self.addCleanup(self.pacs.stop)
        self.url = f"http://127.0.0.1:{self.pacs.http_port}/dicom-web/studies"

    def gate(self, **options):
        gate = Gate(self.pacs.http_port, **options)
        self.addCleanup(gate.stop)
        return gate

    def sender(self, url, web="", fields="", **options):
        return self.service(destinations=[f'dicomweb {{ name: "CLOUD" url: "{url}" {web} }} {FAST} {fields}'], **options)

    def transfers(self, service):
        return json.loads(isocenter.must("transfers", "--server", service.grpc, "--json"))

    def await_done(self, service, jobs, seconds=240):
        def all_done():
            found = self.transfers(service)
            return len(found) == jobs and all(transfer["done"] for transfer in found)

        try:
            process.wait_until(all_done, seconds, "all transfers done")
        except process.LabError as error:
            found = json.dumps(self.transfers(service), indent=1)
            raise process.LabError(f"{error}\n{found}\n{service.process.output()[-3000:]}") from None

    def page(self, service, path):
        with urllib.request.urlopen(f"http://{service.web}/api/v1/{path}", timeout=60) as answer:
            return json.load(answer)

    def compare_with_what_is_stored(self, service):
        """Every instance of the service is in Orthanc, with the same pixels."""
        stored = {}
        for file in (service.folder / "archive" / "results").glob("*/dicom/*.dcm"):
            data_set = pydicom.dcmread(file)
            stored[str(data_set.SOPInstanceUID)] = data_set
        received = {}
        for instance in self.pacs.get("/instances"):
            address = f"http://127.0.0.1:{self.pacs.http_port}/instances/{instance}/file"
            with urllib.request.urlopen(address, timeout=60) as answer:
                data_set = pydicom.dcmread(io.BytesIO(answer.read()))
            received[str(data_set.SOPInstanceUID)] = data_set
        self.assertEqual(set(received), set(stored))
        for uid, data_set in stored.items():
            self.assertEqual(received[uid].PixelData, data_set.PixelData, "pixels differ")
            self.assertEqual(received[uid].PatientName, data_set.PatientName)

    def test_orthanc_has_what_is_stored(self):
        self.pacs.start()
        audit = self.folder / "audit.jsonl"
        service = self.sender(self.url, config=f'audit {{ file: "{audit}" }}')
        result = self.stream(service)
        self.await_done(service, 1)
        (transfer,) = self.transfers(service)
        self.assertEqual((transfer["destination"], transfer["state"], transfer.get("reason")), ("CLOUD", "sent", None))
        self.assertEqual(transfer["sent_count"], support.INSTANCES)
        self.compare_with_what_is_stored(service)

        (shown,) = self.page(service, "transfers")["destinations"]
        self.assertEqual((shown["name"], shown["host"], shown["port"], shown["url"]), ("CLOUD", None, None, self.url))
        with urllib.request.urlopen(f"http://{service.metrics}/metrics", timeout=60) as answer:
            page = answer.read().decode()
        self.assertIn(f'isocenter_dicom_send_total{{destination="CLOUD",event="sent"}} {support.INSTANCES}', page)
        self.assertIn(f'isocenter_dicom_queue{{destination="CLOUD",state="sent"}} {support.INSTANCES}', page)

        def records():
            lines = audit.read_text().rpartition("\n")[0].splitlines()
            return [each for each in map(json.loads, lines) if each["action"] == "transmit"]

        process.wait_until(lambda: sum(r["instances"] for r in records()) == support.INSTANCES, 60, "the records")
        for record in records():
            self.assertEqual((record["service"], record["destination"], record["outcome"]), ("dicomweb", "CLOUD", "success"))
            self.assertEqual(record["patient_ids"], [support.PATIENT_ID])

        # Once more on request: Orthanc has it already.
        isocenter.must("send", result["job_id"], "--to", "CLOUD", "--server", service.grpc)
        isocenter.must("delete", result["job_id"], "--server", service.grpc)
        self.assertEqual(self.transfers(service), [])

    def test_down_and_up_again(self):
        service = self.sender(self.url, fields="max_associations: 2")
        result = self.stream(service)
        reason = process.wait_until(lambda: self.transfers(service)[0].get("reason"), 120, "a reason why it waits")
        self.assertIn("no answer", reason)
        done = isocenter.call("delete", result["job_id"], "--server", service.grpc)
        self.assertIn("CLOUD has not confirmed to have received 65 of 65", done.stderr)
        shown = process.wait_until(lambda: self.page(service, "transfers")["destinations"][0]["reason"], 60, "it is shown")
        self.assertIn("no answer", shown)
        self.pacs.start()
        self.await_done(service, 1)
        self.compare_with_what_is_stored(service)
        # And while it has something: down, another result, up.
        self.pacs.stop()
        self.stream(service)
        process.wait_until(lambda: any("no answer" in t.get("reason", "") for t in self.transfers(service)), 120, "it waits again")
        self.pacs.start()
        self.await_done(service, 2)
        self.compare_with_what_is_stored(service)

    def test_token_and_certificates(self):
        """A wrong token keeps results waiting, until the file has the right one; both sides show certificates."""
        self.pacs.start()
        authority = certificates.Authority(self.folder)
        ours, theirs = authority.certificate("node"), authority.certificate("gate")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(theirs.certificate, theirs.key)
        context.load_verify_locations(authority.file)
        context.verify_mode = ssl.CERT_REQUIRED
        gate = self.gate(token="right", tls=context)
        token = self.folder / "cloud.token"
        token.write_text("that-of-another\n")
        token.chmod(0o640)
        service = self.sender(
            f"https://{gate.address}/dicom-web/studies",
            f"""bearer_token_file: "{token}" ca_file: "{authority.file}"
                certificate_file: "{ours.certificate}" private_key_file: "{ours.key}" """,
        )
        self.stream(service)
        reason = process.wait_until(lambda: self.transfers(service)[0].get("reason"), 120, "a reason why it waits")
        self.assertIn("HTTP status 401", reason)
        self.assertEqual(self.transfers(service)[0]["failed_count"], 0)
        self.assertNotIn("that-of-another", service.process.output(), "the token is in the log")
        process.wait_until(lambda: gate.refused > 2, 60, "it is tried again")
        token.write_text("right\n")
        self.await_done(service, 1)
        self.compare_with_what_is_stored(service)
        with urllib.request.urlopen(f"http://{service.metrics}/metrics", timeout=60) as answer:
            self.assertIn('certificate="dicom_node.destination.CLOUD.dicomweb.ca_file"', answer.read().decode())

    def test_killed_on_the_way(self):
        """kill -9 at any moment: nothing is lost, and no more than the request under way comes twice."""
        gate = self.gate(seconds=0.3)
        service = self.sender(f"http://{gate.address}/dicom-web/studies", fields="on_request_only: true")
        jobs = [self.stream(service)["job_id"] for _ in range(3)]
        self.pacs.start()
        for job in jobs:
            isocenter.must("send", job, "--to", "CLOUD", "--server", service.grpc)
        moment = random.randint(1, 3)
        process.wait_until(lambda: len(gate.received) >= moment, 120, f"{moment} requests")
        time.sleep(random.uniform(0, 0.5))
        service.kill()
        service.start()
        self.await_done(service, len(jobs))
        self.compare_with_what_is_stored(service)
        counts = {}
        for uids in gate.received:
            for uid in uids:
                counts[uid] = counts.get(uid, 0) + 1
        self.assertEqual(len(counts), len(jobs) * support.INSTANCES)
        twice = {uid for uid, count in counts.items() if count > 1}
        self.assertLessEqual(max(counts.values()), 2)
        self.assertTrue(any(twice <= set(uids) for uids in gate.received), "more than one request came twice")
        print(f"killed in request {moment}: {len(gate.received)} requests, {len(twice)} instances twice")

    def test_mistakes_are_said(self):
        token = self.folder / "token"
        token.write_text("secret")
        token.chmod(0o644)
        good = 'name: "CLOUD" url: "https://pacs.example/dicom-web/studies"'
        for fields, said in (
            (f'ae_title: "PACS" dicomweb {{ {good} }}', "ae_title is 'PACS'; legal is empty with dicomweb"),
            ("dicomweb { }", "dicomweb.name is ''; legal is 1 to 16 printable"),
            ('dicomweb { name: "CLOUD" url: "pacs.example/studies" }', "dicomweb.url is 'pacs.example/studies'; legal is https://"),
            ('dicomweb { name: "CLOUD" url: "https://pacs.example/dicom-web" }', "legal is https://HOST[:PORT]/PATH/studies"),
            ('dicomweb { name: "CLOUD" url: "http://pacs.example/studies" }', "with `unprotected: true`"),
            (f"dicomweb {{ {good} unprotected: true }}", "dicomweb.unprotected is true; legal is false"),
            (
                f'dicomweb {{ name: "C" url: "http://pacs.example/studies" unprotected: true bearer_token_file: "{token}" }}',
                "a token is a secret",
            ),
            (f"dicomweb {{ {good} }} storage_commitment: true", "storage_commitment is true; legal is false"),
            (f"dicomweb {{ {good} }} commitment_seconds: 5", "commitment_seconds is 5; legal is 0"),
            (f"dicomweb {{ {good} }} max_associations: 17", "max_associations is 17; legal is 1 to 16"),
            (f'dicomweb {{ {good} certificate_file: "a" }}', "dicomweb.private_key_file is ''; legal is a PEM file"),
            (f'dicomweb {{ {good} ca_file: "/nowhere" }}', "dicom_node.destination.CLOUD.dicomweb.ca_file is /nowhere"),
            (f'dicomweb {{ {good} bearer_token_file: "{token}" }}', "dicomweb.bearer_token_file"),
            (f"dicomweb {{ {good} }} }} destination {{ dicomweb {{ {good} }}", "destination[1].dicomweb.name is 'CLOUD'"),
        ):
            config = self.folder / "wrong.textproto"
            peer = 'peer { ae_title: "PACS" host: "h" port: 104 }'
            config.write_text(f"dicom_node {{ {peer} destination {{ {fields} }} }}")
            done = process.run([isocenter.binary("isocenterd"), "--config", config, "--check"])
            self.assertNotEqual(done.returncode, 0, fields)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    support.main()
