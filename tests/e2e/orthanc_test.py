"""Debian's Orthanc finds a study in our node (C-FIND) and pulls it (C-MOVE)."""

import support
from lab import orthanc, process


class OrthancTest(support.ServiceTest):
    def test_find_and_pull(self):
        support.need("Orthanc", "orthanc")
        pacs_port = process.free_port()
        service = self.service(peers=[(orthanc.AE_TITLE, pacs_port)])
        result = self.stream(service)
        pacs = self.orthanc(service, pacs_port)

        query, answers = pacs.find_studies(AccessionNumber=support.ACCESSION, StudyInstanceUID="")
        self.assertEqual([a["StudyInstanceUID"] for a in answers], [result["study_instance_uid"]])
        self.assertEqual(pacs.instance_count(), 0)
        pacs.retrieve(query)
        self.assertEqual(pacs.instance_count(), result["instance_count"])

        series = {pacs.get(f"/series/{s}")["MainDicomTags"]["Modality"]: s for s in pacs.get("/series")}
        self.assertEqual(set(series), {"CT", "XA"})
        tags = pacs.get(f"/series/{series['CT']}")["MainDicomTags"]
        self.assertEqual(tags["SeriesInstanceUID"], result["series_instance_uid"])
        (volume,) = pacs.get(f"/series/{series['XA']}")["Instances"]
        tags = pacs.get(f"/instances/{volume}/simplified-tags")
        self.assertEqual(tags["SOPClassUID"], "1.2.840.10008.5.1.4.1.1.13.1.1")
        self.assertEqual(tags["NumberOfFrames"], str(support.SLICES))
        self.assertEqual(len(pacs.get(f"/instances/{volume}/frames")), support.SLICES)
        (patient,) = pacs.get("/patients")
        tags = pacs.get(f"/patients/{patient}")["MainDicomTags"]
        self.assertEqual(tags["PatientID"], support.PATIENT_ID)
        self.assertEqual(tags["PatientName"], "Test^Head")
        # Orthanc sorts slices by their position; all of them must be there once, one voxel apart.
        slices = pacs.get(f"/series/{series['CT']}/ordered-slices")["SlicesShort"]
        self.assertEqual(len(slices), support.SLICES)

    def test_query_without_match(self):
        support.need("Orthanc", "orthanc")
        service = self.service()
        pacs = self.orthanc(service, process.free_port())
        self.assertEqual(pacs.find_studies(PatientID="NOBODY")[1], [])


if __name__ == "__main__":
    support.main()
