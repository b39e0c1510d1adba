"""The worklist of DCMTK's wlmscpfs and of Orthanc completes the identity of an acquisition."""

import json
import pathlib
import socket
import sqlite3

import support
from lab import isocenter, orthanc, process

JAPANESE = b"Yamada^Tarou=\x1b$B;3ED\x1b(B^\x1b$BB@O:\x1b(B"
ORTHANC_PLUGIN = pathlib.Path("/usr/share/orthanc/plugins/libModalityWorklists.so")

ENTRY = """
(0008,0005) CS [\\ISO 2022 IR 87]
(0008,0050) SH [{accession}]
(0008,0090) PN [House^Gregory]
(0010,0010) PN [NAME]
(0010,0020) LO [{patient_id}]
(0010,0030) DA [19700203]
(0010,0040) CS [M]
(0020,000d) UI [{study}]
(0032,1060) LO [Cerebral angiography]
(0040,0100) SQ
(fffe,e000) -
(0008,0060) CS [XA]
(0040,0001) AE [ISOCENTER]
(0040,0002) DA [20260102]
(0040,0003) TM [101500]
(0040,0006) PN [Wilson^James]
(0040,0007) LO [Rotational run]
(0040,0009) SH [{step}]
(fffe,e00d) -
(fffe,e0dd) -
(0040,1001) SH [RP1]
"""


def entry(**changes):
    """Values of one scheduled step."""
    return {"accession": "A1", "patient_id": "P1", "study": "1.2.840.113619.1", "step": "SPS1", **changes}


class WorklistTest(support.ServiceTest):
    def entries(self, *entries):
        """A folder for worklist servers, with one file for each entry."""
        dump2dcm = support.need("dump2dcm", "dcmtk")
        folder = self.folder / "worklist" / "RIS"
        folder.mkdir(parents=True)
        (folder / "lockfile").touch()
        for index, entry in enumerate(entries):
            text = ENTRY.format(**entry).encode().replace(b"NAME", JAPANESE)
            dump = folder / f"{index}.dump"
            dump.write_bytes(text)
            done = process.run([dump2dcm, "-q", dump, folder / f"{index}.wl"])
            self.assertEqual(done.returncode, 0, done.stderr)
            dump.unlink()
        return folder.parent

    def wlmscpfs(self, folder):
        port = process.free_port()
        server = self.background(
            [support.need("wlmscpfs", "dcmtk"), "-csk", "-dfp", folder, port], "wlmscpfs"
        )
        server.wait_for(lambda: process.listens(port), 60, "it listens")
        return port

    def service_asking(self, port, timeout=60):
        return self.service(
            peers=[("RIS", port)],
            dicom=f'worklist {{ peer: "RIS" timeout_seconds: {timeout} }}',
        )

    def run_one(self, service, *identity):
        """A small acquisition whose header has this identity; its result."""
        bundle = self.folder / "bundle"
        isocenter.must(
            *("simulate", "--phantom", "head", "--out", bundle, "--overwrite", "--trajectory", "carm"),
            *("--frames", 20, "--detector", "62x48", "--pitch-mm", 6.16, *identity),
        )
        # The simulator makes up a patient where none is given.
        header = bundle / "acquisition.textproto"
        made_up = ('patient_name: "Phantom^Head"', 'patient_id: "SIMULATED"', 'patient_sex: "O"',
                   'study_description: "Simulated acquisition"')
        lines = [line for line in header.read_text().splitlines() if line.strip() not in made_up]
        header.write_text("\n".join(lines) + "\n")
        return isocenter.json_of(
            *("stream", bundle, "--server", service.grpc, "--grid", "32x32x16", "--voxel-mm", 6)
        )

    def image_of(self, service, result):
        out = self.folder / "dicom"
        isocenter.must(
            *("fetch", result["job_id"], "--server", service.grpc, "--format", "dicom", "--out", out)
        )
        (file, *_) = sorted(out.rglob("*.dcm"))
        done = process.run([support.need("dcmdump", "dcmtk"), "-q", file])
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def check_completed(self, service):
        result = self.run_one(service, "--accession", "A1")
        self.assertEqual(result["warnings"], [])
        self.assertEqual(result["study_instance_uid"], "1.2.840.113619.1")
        image = self.image_of(service, result)
        for part in ("山田^太郎", "[P1]", "[19700203]", "[House^Gregory]", "[Rotational run]"):
            self.assertIn(part, image)
        for tag in ("(0040,0275)", "(0040,0009) SH [SPS1]", "(0040,1001) SH [RP1]"):
            self.assertIn(tag, image)

    def test_header_is_completed(self):
        service = self.service_asking(self.wlmscpfs(self.entries(entry(), entry(accession="A2"))))
        self.check_completed(service)

    def test_orthanc_completes_the_header(self):
        support.need("Orthanc", "orthanc")
        if not ORTHANC_PLUGIN.exists():
            self.skipTest(f"{ORTHANC_PLUGIN} was not found; install it with: ./dev setup (package orthanc)")
        port = process.free_port()
        service = self.service_asking(port)
        pacs = orthanc.Orthanc(
            self.folder / "orthanc",
            service.dicom_port,
            port,
            settings={
                "DefaultEncoding": "Utf8",
                "Plugins": [str(ORTHANC_PLUGIN)],
                "Worklists": {"Enable": True, "Database": str(self.entries(entry()) / "RIS")},
            },
        )
        self.addCleanup(pacs.stop)
        pacs.start()
        self.check_completed(service)

    def test_mismatches_are_told_and_change_nothing(self):
        entries = self.entries(entry(), entry(accession="A2"), entry(accession="A2", step="SPS2"))
        service = self.service_asking(self.wlmscpfs(entries))
        for identity, warning, study in (
            (("--accession", "A1", "--patient-id", "P9"), "another patient id", None),
            (("--accession", "A9"), "nothing is scheduled", None),
            (("--accession", "A2"), "2 steps", "1.2.840.113619.1"),
            (("--accession", "A1", "--patient-id", "P1", "--patient-name", "Doe^Jane"), "name", "1.2.840.113619.1"),
        ):
            with self.subTest(identity=identity):
                result = self.run_one(service, *identity)
                self.assertEqual(len(result["warnings"]), 1, result["warnings"])
                self.assertIn(warning, result["warnings"][0])
                if study:
                    self.assertEqual(result["study_instance_uid"], study)
                else:
                    self.assertNotEqual(result["study_instance_uid"], "1.2.840.113619.1")

    def test_worklist_that_is_down_or_silent_costs_a_warning(self):
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        for name, port in (("down", process.free_port()), ("silent", silent.getsockname()[1])):
            with self.subTest(name):
                service = self.service(
                    name, peers=[("RIS", port)], dicom='worklist { peer: "RIS" timeout_seconds: 1 }'
                )
                result = self.run_one(service, "--accession", "A1")
                self.assertEqual(len(result["warnings"]), 1, result["warnings"])
                self.assertIn("the worklist was not heard", result["warnings"][0])
                self.assertGreater(result["instance_count"], 0)
                done = isocenter.call("worklist", "--server", service.grpc)
                self.assertEqual(done.returncode, 5)
                self.assertIn("RIS", done.stderr)

    def test_scheduled_steps_are_listed(self):
        entries = self.entries(entry(), entry(accession="A2", patient_id="P2", step="SPS2"))
        service = self.service_asking(self.wlmscpfs(entries))
        table = isocenter.must("worklist", "--server", service.grpc)
        for part in ("A1", "A2", "山田^太郎", "ISOCENTER", "Rotational run"):
            self.assertIn(part, table)
        found = json.loads(isocenter.must("worklist", "--server", service.grpc, "--accession", "A2", "--json"))
        self.assertEqual([step["patient_id"] for step in found], ["P2"])
        self.assertEqual(found[0]["start_time"], "101500")
        self.assertNotIn("A1", isocenter.must("worklist", "--server", service.grpc, "--date", "20250101"))

    def test_procedure_steps_without_a_peer_wait_and_delay_nothing(self):
        port = process.free_port()
        service = self.service(peers=[("RIS", port)], dicom='mpps { peer: "RIS" }')
        result = self.run_one(service, "--accession", "A1")
        image = self.image_of(service, result)
        self.assertIn("(0008,1111)", image)

        def steps(*options):
            return json.loads(isocenter.must("steps", "--server", service.grpc, "--json", *options))

        (step,) = process.wait_until(lambda: [s for s in steps() if s.get("reason")], 120, "a reason why the step waits")
        self.assertEqual((step["job_id"], step["state"]), (result["job_id"], "beginning"))
        self.assertIn("cannot associate with RIS", step["reason"])
        isocenter.must("steps", "retry", result["job_id"], "--server", service.grpc)
        done = isocenter.call("steps", "drop", "nobody", "--server", service.grpc)
        self.assertEqual(done.returncode, 4)
        self.assertIn("'nobody' has no performed procedure step", done.stderr)
        service.kill()
        queue = sqlite3.connect(service.folder / "archive" / "procedure-steps.sqlite")
        self.addCleanup(queue.close)
        rows = queue.execute("SELECT job_id, state, end_data <> '' FROM steps").fetchall()
        self.assertEqual(rows, [(result["job_id"], "new", 1)])
        service.start()
        isocenter.must("steps", "drop", result["job_id"], "--server", service.grpc)
        self.assertEqual(steps(), [])
        self.assertEqual([step["state"] for step in steps("--state", "dropped")], ["dropped"])


if __name__ == "__main__":
    support.main()
