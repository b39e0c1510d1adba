"""DICOMweb of the real server, with two clients: Orthanc's plugin, which finds and pulls, and a plain one that takes the standard at its word."""

import email.parser
import hashlib
import http.client
import io
import json
import pathlib
import urllib.parse

import support
from lab import process

try:
    import pydicom
except ImportError:
    pydicom = None

PLUGIN = pathlib.Path("/usr/share/orthanc/plugins/libOrthancDicomWeb.so")
ANY_DICOM = 'multipart/related; type="application/dicom"; transfer-syntax=*'
ANY_BYTES = 'multipart/related; type="application/octet-stream"'


class Client:
    """A client of PS3.18 in Python's standard library."""

    def __init__(self, address, token=None):
        self.address = address
        self.token = token

    def get(self, target, accept=None):
        """(status, headers, body)"""
        headers = {"Accept": accept} if accept else {}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        connection = http.client.HTTPConnection(self.address, timeout=120)
        try:
            connection.request("GET", f"/dicomweb{target}", headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def json(self, target, **parameters):
        query = f"?{urllib.parse.urlencode(parameters)}" if parameters else ""
        status, _, body = self.get(target + query, "application/dicom+json")
        if status != 200:
            raise process.LabError(f"{target}: {status} {body[:500]}")
        return json.loads(body)

    def parts(self, target, accept):
        """The bodies of a multipart answer, cut as MIME says."""
        status, headers, body = self.get(target, accept)
        if status != 200:
            raise process.LabError(f"{target}: {status} {body[:500]}")
        head = f"Content-Type: {headers['Content-Type']}\r\n\r\n".encode()
        boundary = email.parser.BytesHeaderParser().parsebytes(head).get_boundary().encode()
        pieces = (b"\r\n" + body).split(b"\r\n--" + boundary)
        assert pieces[0] == b"" and pieces[-1] == b"--\r\n", (pieces[0], pieces[-1])
        return [piece.partition(b"\r\n\r\n")[2] for piece in pieces[1:-1]]


def value(found, tag):
    return found[tag]["Value"][0]


class DicomWebTest(support.ServiceTest):
    def stored_files(self, service):
        """The service's files by SOP Instance UID."""
        files = (service.folder / "archive" / "results").glob("*/dicom/*.dcm")
        return {pydicom.dcmread(file, stop_before_pixels=True).SOPInstanceUID: file for file in files}

    def test_find_and_fetch_by_the_standard(self):
        if pydicom is None:
            self.skipTest("python3-pydicom is not installed")
        service = self.service()
        result = self.stream(service)
        client = Client(service.web)
        (study,) = client.json("/studies", AccessionNumber=support.ACCESSION, PatientName="test*")
        self.assertEqual(value(study, "0020000D"), result["study_instance_uid"])
        self.assertEqual(value(study, "00100010"), {"Alphabetic": "Test^Head"})
        self.assertEqual(value(study, "00201208"), support.INSTANCES)
        self.assertEqual(client.json("/studies", PatientID="NOBODY"), [])
        path = f"/studies/{result['study_instance_uid']}"
        series = {value(each, "00080060"): each for each in client.json(f"{path}/series")}
        self.assertEqual(set(series), {"CT", "XA"})
        self.assertEqual(value(series["CT"], "0020000E"), result["series_instance_uid"])
        ct = f"{path}/series/{result['series_instance_uid']}"

        files = self.stored_files(service)
        bodies = client.parts(ct, ANY_DICOM)
        self.assertEqual(len(bodies), support.SLICES)
        stored = {uid: file.read_bytes() for uid, file in files.items()}
        received = {pydicom.dcmread(io.BytesIO(body)).SOPInstanceUID: body for body in bodies}
        self.assertEqual(received, {uid: body for uid, body in stored.items() if uid in received})
        self.assertEqual(len(client.parts(path, ANY_DICOM)), support.INSTANCES)

        # What metadata say is what the objects say, and leads to their pixels.
        metadata = client.json(f"{ct}/metadata")
        self.assertEqual(len(metadata), support.SLICES)
        for found in metadata[:3]:
            uid = value(found, "00080018")
            said = pydicom.Dataset.from_json(found, lambda tag, vr, uri: self.bulk_data(client, uri))
            self.assertEqual(said, pydicom.dcmread(files[uid]))
            (frame,) = client.parts(f"{ct}/instances/{uid}/frames/1", ANY_BYTES)
            self.assertEqual(frame, said.PixelData)
        xa = f"{path}/series/{value(series['XA'], '0020000E')}"
        (volume,) = client.json(f"{xa}/instances")
        uid = value(volume, "00080018")
        pixels = pydicom.dcmread(files[uid]).PixelData
        frames = client.parts(f"{xa}/instances/{uid}/frames/{support.SLICES},1", ANY_BYTES)
        size = len(pixels) // support.SLICES
        self.assertEqual(frames, [pixels[-size:], pixels[:size]])
        status, headers, picture = client.get(f"{xa}/instances/{uid}/frames/32/rendered?window=0,2000,linear", "image/png")
        self.assertEqual((status, headers["Content-Type"]), (200, "image/png"), picture)
        self.assertEqual(picture[:8], b"\x89PNG\r\n\x1a\n")

    def test_who_may_and_whether_at_all(self):
        tokens = self.tokens()
        for said, status in (("", 403), ("dicomweb { least_role: WEB_ROLE_VIEWER }", 200), ("dicomweb { disabled: true }", 404)):
            service = self.service(f"service-{status}", web=f'tokens_file: "{tokens}" {said}')
            self.assertEqual(Client(service.web, "viewer-secret").get("/studies", "application/dicom+json")[0], status)
            service.stop()

    def bulk_data(self, client, uri):
        self.assertTrue(uri.startswith(f"http://{client.address}/dicomweb/"), uri)
        (pixels,) = client.parts(uri.partition("/dicomweb")[2], ANY_BYTES)
        return pixels

    def test_orthanc_finds_and_pulls(self):
        support.need("Orthanc", "orthanc")
        if not PLUGIN.exists() or pydicom is None:
            self.skipTest("orthanc-dicomweb or python3-pydicom is not installed")
        tokens = self.tokens()
        audit = self.folder / "audit.jsonl"
        service = self.service(web=f'tokens_file: "{tokens}"', config=f'audit {{ file: "{audit}" }}')
        token = self.folder / "console.token"
        token.write_text("console-secret\n")
        result = self.stream(service, "--token-file", token)
        server = {"Url": f"http://{service.web}/dicomweb/", "HttpHeaders": {"Authorization": "Bearer console-secret"}}
        settings = {"Plugins": [str(PLUGIN)], "DicomWeb": {"Enable": True, "Servers": {"isocenter": server}}}
        pacs = self.orthanc(service, process.free_port(), settings=settings)

        found = pacs.post(
            "/dicom-web/servers/isocenter/qido",
            {"Uri": "/studies", "Arguments": {"AccessionNumber": support.ACCESSION}},
        )
        self.assertEqual([each["0020000D"]["Value"] for each in found], [result["study_instance_uid"]])
        self.assertEqual(pacs.instance_count(), 0)
        wanted = {"Study": result["study_instance_uid"], "Series": result["series_instance_uid"]}
        pacs.post("/dicom-web/servers/isocenter/retrieve", {"Resources": [wanted], "Synchronous": True})
        self.assertEqual(pacs.instance_count(), support.SLICES)

        files = self.stored_files(service)
        for instance in pacs.get("/instances"):
            uid = pacs.get(f"/instances/{instance}")["MainDicomTags"]["SOPInstanceUID"]
            pulled = pydicom.dcmread(io.BytesIO(self.file_of(pacs, instance)))
            self.assertEqual(pulled.PixelData, pydicom.dcmread(files[uid]).PixelData, "pixels differ")

        def records(action):
            lines = audit.read_text().rpartition("\n")[0].splitlines()
            return [each for each in map(json.loads, lines) if each["action"] == action]

        process.wait_until(lambda: records("retrieve"), 60, "the record of the retrieval")
        record = records("retrieve")[-1]
        self.assertEqual((record["actor"], record["outcome"]), ("the console", "success"))
        self.assertEqual(record["study_uids"], [result["study_instance_uid"]])
        self.assertEqual(record["patient_ids"], [support.PATIENT_ID])
        self.assertEqual(record["instances"], support.SLICES)
        (query,) = records("query")
        self.assertIn(f"(0008,0050)={support.ACCESSION}", query["query"])

    def file_of(self, pacs, instance):
        connection = http.client.HTTPConnection("127.0.0.1", pacs.http_port, timeout=60)
        try:
            connection.request("GET", f"/instances/{instance}/file")
            return connection.getresponse().read()
        finally:
            connection.close()

    def tokens(self):
        tokens = self.folder / "tokens"
        roles = ("viewer", "console")
        digests = {role: hashlib.sha256(f"{role}-secret".encode()).hexdigest() for role in roles}
        tokens.write_text("".join(f"{role} {digests[role]} the {role}\n" for role in roles))
        tokens.chmod(0o640)
        return tokens

    def test_roles(self):
        tokens = self.tokens()
        service = self.service("viewers", web=f'tokens_file: "{tokens}"')
        self.assertEqual(Client(service.web).get("/studies")[0], 401)
        self.assertEqual(Client(service.web, "guess").get("/studies")[0], 401)
        self.assertEqual(Client(service.web, "viewer-secret").get("/studies")[0], 403)
        self.assertEqual(Client(service.web, "console-secret").get("/studies")[0], 200)


if __name__ == "__main__":
    support.main()
