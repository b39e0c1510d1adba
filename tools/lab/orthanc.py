"""Debian's Orthanc as the PACS that finds and pulls studies."""

import http.client
import json
import pathlib
import urllib.error
import urllib.request

from lab import process

AE_TITLE = "ORTHANC"


class Orthanc:
    def __init__(self, folder, service_port, dicom_port=None, settings=None, tls=None):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.dicom_port = dicom_port or process.free_port()
        self.http_port = process.free_port()
        self.service_port = service_port  # of isocenterd's DICOM node
        self.settings = settings or {}  # of the configuration, besides those below
        self.tls = tls  # (certificate, key, authority) as files: DICOM over TLS in both directions
        self.process = None

    def start(self):
        config = {
            "Name": "IsocenterLab",
            "StorageDirectory": str(self.folder / "db"),
            "IndexDirectory": str(self.folder / "db"),
            "HttpPort": self.http_port,
            "HttpBindAddresses": ["127.0.0.1"],
            "RemoteAccessAllowed": False,
            "AuthenticationEnabled": False,
            "DicomAet": AE_TITLE,
            "DicomPort": self.dicom_port,
            "DicomCheckCalledAet": False,
            "DicomAlwaysAllowStore": True,
            # Orthanc waits for each message of its peers for 10 s only, of which a busy disk may take all.
            "DicomScuTimeout": 120,
            "DicomScpTimeout": 120,
            "DicomModalities": {"isocenter": ["ISOCENTER", "127.0.0.1", self.service_port]},
            "Plugins": [],
            **self.settings,
        }
        if self.tls:
            certificate, key, authority = (str(file) for file in self.tls)
            config.update(
                DicomTlsEnabled=True,
                DicomTlsCertificate=certificate,
                DicomTlsPrivateKey=key,
                DicomTlsTrustedCertificates=authority,
            )
            config["DicomModalities"]["isocenter"] = {
                "AET": "ISOCENTER",
                "Host": "127.0.0.1",
                "Port": self.service_port,
                "UseDicomTls": True,
            }
        file = self.folder / "orthanc.json"
        file.write_text(json.dumps(config, indent=1))
        self.process = process.Process(
            [process.find_tool("Orthanc", "orthanc"), file],
            self.folder / "orthanc.log",
            cwd=self.folder,
            env={"TCP_NODELAY": "1"},
        )
        # It listens for DICOM before it does for HTTP.
        self.process.wait_for(self._answers, 120, "an answer over HTTP")
        return self

    def _answers(self):
        try:
            return self.get("/system")
        except (OSError, http.client.HTTPException):
            return None

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}{path}", timeout=60) as answer:
            return json.load(answer)

    def post(self, path, body, seconds=300):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.http_port}{path}", json.dumps(body).encode(), method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=seconds) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            detail = error.read().decode(errors="replace")
            raise process.LabError(f"Orthanc refused POST {path}: {error.code} {detail}") from None

    def find_studies(self, **keys):
        """C-FIND at study level; (query id, list of answers as {keyword: value})."""
        query = self.post("/modalities/isocenter/query", {"Level": "Study", "Query": keys})["ID"]
        count = len(self.get(f"/queries/{query}/answers"))
        answers = [
            self.get(f"/queries/{query}/answers/{index}/content?simplify") for index in range(count)
        ]
        return query, answers

    def retrieve(self, query):
        """C-MOVE of everything that the query found, to Orthanc itself."""
        self.post(f"/queries/{query}/retrieve", {"TargetAet": AE_TITLE, "Synchronous": True})

    def instance_count(self):
        return self.get("/statistics")["CountInstances"]

    def delete_all(self):
        """As an archive that has lost its disk."""
        for patient in self.get("/patients"):
            request = urllib.request.Request(
                f"http://127.0.0.1:{self.http_port}/patients/{patient}", method="DELETE"
            )
            with urllib.request.urlopen(request, timeout=60):
                pass

    def stop(self):
        if self.process:
            self.process.stop()
