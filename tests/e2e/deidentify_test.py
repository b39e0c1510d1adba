"""Rotational DICOM XA runs as input, and de-identified results, with the real service."""

import re

import support
from lab import isocenter, process

# What an export loses. An attribute that is new in the objects has to be decided: here, and in
# client/formats/dicom/deidentify_rules.cc.
REMOVED = {
    "AcquisitionDate", "AcquisitionTime", "ContributingEquipmentSequence", "DerivationDescription",
    "ImageComments", "InstanceCreationDate", "InstanceCreationTime", "InstitutionName", "InstitutionalDepartmentName",
    "OperatorsName", "PerformingPhysicianName", "ProtocolName", "ReconstructionDescription", "SeriesDate",
    "SeriesDescription", "SeriesTime", "StationName", "StudyDescription",
}  # fmt: skip
SECRETS = ["Test^Head", support.PATIENT_ID, support.ACCESSION, "End to end", "simulator"]


class DeidentifyTest(support.ServiceTest):
    def setUp(self):
        super().setUp()
        self.node = self.service()

    def fetched(self, job, name, *options):
        folder = self.folder / name
        isocenter.must("fetch", job, "--server", self.node.grpc, "--out", folder, *options)
        return sorted(folder.glob("*.dcm"))

    def dump(self, file):
        return process.run([support.need("dcmdump", "dcmtk"), "+L", "-q", file]).stdout

    def attributes(self, file):
        """Keyword to the first value, at any depth."""
        found = {}
        for line in self.dump(file).splitlines():
            match = re.match(r"\s*\(\w{4},\w{4}\) \w\w (.*?)\s*#.* (\w+)$", line)
            if match and not line.startswith("(0002"):
                found.setdefault(match[2], match[1].strip("[]"))
        return found

    def errors(self, file):
        done = process.run([support.need("dciodvfy", "dicom3tools"), file])
        return [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("Error")]

    def test_no_identity_is_left_and_the_objects_stay_valid(self):
        job = self.stream(self.node)["job_id"]
        plain = self.fetched(job, "plain")
        cleaned = self.fetched(job, "cleaned", "--deidentify")
        self.assertEqual(len(cleaned), len(plain))
        for secret in SECRETS[:3]:
            self.assertTrue(any(secret.encode() in f.read_bytes() for f in plain), secret)
        for before, after in zip(plain, cleaned):
            for secret in [*SECRETS, job]:
                self.assertNotIn(secret.encode(), after.read_bytes(), after)
            lost = set(self.attributes(before)) - set(self.attributes(after))
            self.assertLessEqual(lost, REMOVED, "undecided")
        for file in {cleaned[0], cleaned[-1]}:
            self.assertEqual(self.errors(file), [], file)
            attributes = self.attributes(file)
            self.assertEqual(attributes["PatientIdentityRemoved"], "YES")
            self.assertEqual(attributes["LongitudinalTemporalInformationModified"], "REMOVED")
        # The voxels are those of the plain file: the last element of both.
        rows, columns = (int(self.attributes(plain[0])[k]) for k in ("Rows", "Columns"))
        size = 2 * rows * columns
        self.assertEqual(plain[0].read_bytes()[-size:], cleaned[0].read_bytes()[-size:])

    def test_exports_with_one_key_stay_linked(self):
        job = self.stream(self.node)["job_id"]
        key = self.folder / "key"
        key.write_bytes(b"0123456789abcdef0123456789abcdef")
        linked = [
            self.attributes(self.fetched(job, name, "--deidentify", "--keep", "dates", "--deidentify-key", key)[0])
            for name in ("first", "second")
        ]
        apart = self.attributes(self.fetched(job, "third", "--deidentify")[0])
        for keyword in ("StudyInstanceUID", "FrameOfReferenceUID", "PatientID", "StudyDate"):
            self.assertEqual(linked[0][keyword], linked[1][keyword])
            self.assertNotEqual(linked[0][keyword], apart[keyword])
        self.assertEqual(linked[0]["LongitudinalTemporalInformationModified"], "MODIFIED")


class XaInputTest(support.ServiceTest):
    def simulate(self, *options):
        run = self.folder / "run.dcm"
        isocenter.must(
            *("simulate", "--phantom", "head", "--out", run, "--frames", 60, "--detector", "155x120"),
            *("--pitch-mm", 2.464, "--accession", "XA1", "--patient-name", "Roe^Richard", *options),
        )
        return run

    def test_a_simulated_run_is_a_valid_object(self):
        done = process.run([support.need("dciodvfy", "dicom3tools"), self.simulate()])
        lines = (done.stdout + done.stderr).splitlines()
        self.assertEqual([line for line in lines if line.startswith("Error")], [])
        self.assertIn("XAImage", lines)

    def test_a_run_streams_with_its_identity(self):
        node = self.service()
        run = self.simulate("--trajectory", "circle", "--arc-deg", 200)
        job = isocenter.json_of("stream", run, "--server", node.grpc, "--i0", 60000, *support.GRID)["job_id"]
        folder = self.folder / "series"
        isocenter.must("fetch", job, "--server", node.grpc, "--out", folder)
        dump = process.run([support.need("dcmdump", "dcmtk"), sorted(folder.glob("*.dcm"))[0]]).stdout
        self.assertIn("Roe^Richard", dump)
        self.assertIn("XA1", dump)


if __name__ == "__main__":
    support.main()
