"""Two nodes and a real PostgreSQL: what one has made, the other finds and sends, and says so when it cannot."""

import http.client
import io
import json
import re

import support
from lab import postgres, process

try:
    import pydicom
except ImportError:
    pydicom = None

NODES = ("recon1", "recon2")
ANY_DICOM = 'multipart/related; type="application/dicom"; transfer-syntax=*'


class SharedIndexTest(support.ServiceTest):
    def setUp(self):
        super().setUp()
        support.need(str(postgres.PROGRAMS / "initdb"), "postgresql")
        self.database = postgres.Postgres()
        self.addCleanup(self.database.stop)
        connection = self.folder / "connection"
        connection.touch(mode=0o600)
        connection.write_text(self.database.connection + "\n")
        self.store_port = process.free_port()
        for name in NODES:
            (self.folder / f"archives/{name}").parent.mkdir(exist_ok=True)
            (self.folder / f"archives/{name}").symlink_to(self.folder / name / "archive")
        self.nodes = {name: self.start(name, connection) for name in NODES}

    def start(self, name, connection):
        return self.service(
            name,
            peers=[("STORE", self.store_port)],
            flags=("--node_name", name),
            config="cluster { "
            + " ".join(f'node: "{node}"' for node in NODES)
            + f' shared_index {{ connection_file: "{connection}" archives: "{self.folder}/archives/{{node}}" }} }}',
        )

    def get(self, node, target, accept):
        """(status, headers, body) of DICOMweb"""
        connection = http.client.HTTPConnection(self.nodes[node].web, timeout=120)
        try:
            connection.request("GET", f"/dicomweb{target}", headers={"Accept": accept})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def studies(self, node):
        """(UIDs, warning)"""
        status, headers, body = self.get(node, "/studies", "application/dicom+json")
        self.assertEqual(status, 200, body)
        return {study["0020000D"]["Value"][0] for study in json.loads(body)}, headers.get("Warning", "")

    def pixels(self, node, path):
        """The pixel data of a stored object, by WADO-RS."""
        status, _, body = self.get(node, path, "application/dicom")
        self.assertEqual(status, 200, body[:300])
        return pydicom.dcmread(io.BytesIO(body)).PixelData

    def scu(self, node, tool, *arguments):
        tool = support.need(tool, "dcmtk")
        address = ("127.0.0.1", self.nodes[node].dicom_port)
        done = process.run([tool, "-v", "-S", "-aec", "ISOCENTER", *arguments, *address], 120)
        return done.stdout + done.stderr

    def find(self, node):
        output = self.scu(node, "findscu", "-k", "QueryRetrieveLevel=STUDY", "-k", "StudyInstanceUID")
        return set(re.findall(r"StudyInstanceUID|\(0020,000d\) UI \[([0-9.]+)", output)) - {""}, output

    def move(self, node, study):
        """The files that a store gets."""
        folder = self.folder / f"moved-{node}"
        folder.mkdir()
        store = self.background(
            [support.need("storescp", "dcmtk"), "-od", folder, "-aet", "STORE", self.store_port], f"store-{node}"
        )
        process.wait_until(lambda: process.listens(self.store_port), 60, "the store")
        output = self.scu(
            node, "movescu", "-aem", "STORE", "-k", "QueryRetrieveLevel=STUDY", "-k", f"StudyInstanceUID={study}"
        )
        store.stop()
        files = {}
        for file in folder.iterdir():
            dataset = pydicom.dcmread(file)
            files[dataset.SOPInstanceUID] = dataset.PixelData
        return files, output

    def test_a_result_is_found_and_sent_by_each_node(self):
        if pydicom is None:
            self.skipTest("python3-pydicom is not installed")
        first = self.stream(self.nodes["recon1"])
        study = first["study_instance_uid"]
        for node in NODES:
            self.assertEqual(self.studies(node), ({study}, ""))
            self.assertEqual(self.find(node)[0], {study})
        own, _ = self.move("recon1", study)
        other, output = self.move("recon2", study)
        self.assertEqual(len(own), support.INSTANCES, output)
        self.assertEqual(other, own)
        series = f"/studies/{study}/series/{first['series_instance_uid']}"
        status, _, body = self.get("recon2", f"{series}/instances", "application/dicom+json")
        self.assertEqual(status, 200)
        path = f"{series}/instances/{json.loads(body)[0]['00080018']['Value'][0]}"
        self.assertEqual(self.pixels("recon2", path), self.pixels("recon1", path))

        # Away: each has its own, and says that this is not all.
        self.database.kill()
        for node, expected in (("recon1", {study}), ("recon2", set())):
            found, warning = self.studies(node)
            self.assertEqual(found, expected)
            self.assertIn("299 isocenter", warning)
            self.assertIn(f"only of node {node}", warning)
            found, output = self.find(node)
            self.assertEqual(found, expected)
            self.assertIn("UnableToProcess", output)  # 0xC000
        self.assertEqual(self.get("recon2", f"/studies/{study}", ANY_DICOM)[0], 503)
        self.assertEqual(self.get("recon1", f"/studies/{study}", ANY_DICOM)[0], 206)
        self.assertEqual(self.get("recon1", series, ANY_DICOM)[0], 200)
        second = self.stream(self.nodes["recon2"])["study_instance_uid"]

        self.database.start()
        for node in NODES:
            both = ({study, second}, "")
            process.wait_until(lambda node=node: self.studies(node) == both, 120, f"all studies at {node}")
        # Where an archive is not seen, its results are found, and who has them is said.
        (self.folder / "archives/recon1").unlink()
        self.assertEqual(self.studies("recon2"), ({study, second}, ""))
        status, _, body = self.get("recon2", f"/studies/{study}", ANY_DICOM)
        self.assertEqual(status, 503)
        self.assertIn(b"node recon1: its archive is not mounted here", body)


if __name__ == "__main__":
    support.main()
