"""An independent reader (pydicom) of both forms of a volume: its voxels and positions are those of the job's raw volume."""

import email
import email.policy
import io
import pathlib
import urllib.request

import support
from lab import isocenter, orthanc, process

try:
    import numpy
    import pydicom
except ImportError as error:
    raise SystemExit(support.EXIT_SKIPPED) from error

CT = "1.2.840.10008.5.1.4.1.1.2"
XRAY_3D = "1.2.840.10008.5.1.4.1.1.13.1.1"
PATIENT = "Yamada^Tarou=山田^太郎=やまだ^たろう"


def read_meta_image(file):
    """Voxels [z][y][x] in HU, origin and the vectors from voxel to voxel along x, y and z, all in mm."""
    header, _, voxels = file.read_bytes().partition(b"ElementDataFile = LOCAL\n")
    fields = dict(line.split(" = ", 1) for line in header.decode().splitlines())
    numbers = {key: [float(v) for v in value.split()] for key, value in fields.items() if value[:1] in "-0123456789"}
    nx, ny, nz = (int(n) for n in numbers["DimSize"])
    axes = numpy.array(numbers["TransformMatrix"]).reshape(3, 3)  # one axis after the other
    spacing = numpy.array(numbers["ElementSpacing"])
    volume = numpy.frombuffer(voxels, "<f4").reshape(nz, ny, nx)
    return volume, numpy.array(numbers["Offset"]), axes * spacing[:, None]


def vector(values):
    return numpy.array([float(v) for v in values])


def key(position):
    """To look a position up by, in micrometres."""
    return tuple(numpy.round(vector(position) * 1000).astype(int))


def read_ct(files):
    slices = sorted((pydicom.dcmread(f) for f in files), key=lambda d: d.SliceLocation)
    for data in slices:
        hounsfield = data.pixel_array * float(data.RescaleSlope) + float(data.RescaleIntercept)
        yield hounsfield, data.ImagePositionPatient, data.ImageOrientationPatient, data.PixelSpacing


def read_xray3d(file):
    data = pydicom.dcmread(file)
    shared = data.SharedFunctionalGroupsSequence[0]
    measures = shared.PixelMeasuresSequence[0]
    transformation = shared.PixelValueTransformationSequence[0]
    pixels = data.pixel_array * float(transformation.RescaleSlope) + float(transformation.RescaleIntercept)
    for frame, hounsfield in zip(data.PerFrameFunctionalGroupsSequence, pixels):
        position = frame.PlanePositionSequence[0].ImagePositionPatient
        orientation = shared.PlaneOrientationSequence[0].ImageOrientationPatient
        yield hounsfield, position, orientation, measures.PixelSpacing


class DicomWeb:
    """Orthanc's DICOMweb service (PS3.18)."""

    PLUGIN = pathlib.Path("/usr/share/orthanc/plugins/libOrthancDicomWeb.so")
    SETTINGS = {"Plugins": [str(PLUGIN)], "DicomWeb": {"Enable": True, "Root": "/dicom-web/"}}

    def __init__(self, pacs):
        self.pacs = pacs

    def search(self, resource):
        """QIDO-RS: answers as {tag: first value}."""
        answers = self.pacs.get(f"/dicom-web/{resource}")
        return [{tag: a["Value"][0] for tag, a in answer.items() if "Value" in a} for answer in answers]

    def retrieve(self, resource):
        """WADO-RS: the files of all instances."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.pacs.http_port}/dicom-web/{resource}",
            headers={"Accept": 'multipart/related; type="application/dicom"; transfer-syntax=*'},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            head = f"Content-Type: {answer.headers['Content-Type']}\r\n\r\n".encode()
            parts = email.message_from_bytes(head + answer.read(), policy=email.policy.HTTP).iter_parts()
            return [io.BytesIO(part.get_payload(decode=True)) for part in parts]


class DicomObjectsTest(support.ServiceTest):
    def expect_volume(self, frames, reference):
        volume, origin, steps = reference
        count = 0
        for k, (hounsfield, position, orientation, spacing) in enumerate(frames):
            # Whole HU, clamped to 16 bits.
            self.assertLessEqual(numpy.abs(hounsfield - volume[k].clip(-32768, 32767)).max(), 0.5001)
            numpy.testing.assert_allclose([float(p) for p in position], origin + k * steps[2], atol=1e-6)
            cosines = numpy.array([float(o) for o in orientation]).reshape(2, 3)
            numpy.testing.assert_allclose(cosines[0] * float(spacing[1]), steps[0], atol=1e-6)
            numpy.testing.assert_allclose(cosines[1] * float(spacing[0]), steps[1], atol=1e-6)
            count += 1
        self.assertEqual(count, len(volume))

    def fetch(self, service, job):
        folder, raw = self.folder / job, self.folder / f"{job}.mha"
        isocenter.must("fetch", job, "--server", service.grpc, "--format", "dicom", "--out", folder)
        isocenter.must("fetch", job, "--server", service.grpc, "--format", "mha", "--out", raw)
        forms = {CT: [], XRAY_3D: []}
        for file in sorted(pathlib.Path(folder).iterdir()):
            forms[pydicom.dcmread(file, stop_before_pixels=True).SOPClassUID].append(file)
        return forms, read_meta_image(raw)

    def expect_valid(self, file, extensions=()):
        """`extensions`: attributes by which it extends its class."""
        done = process.run([support.need("dciodvfy", "dicom3tools"), file])
        lines = (done.stdout + done.stderr).splitlines()
        said = [line for line in lines if line.startswith(("Error", "Warning"))]
        if extensions:
            extended = [line for line in said if "not present in standard DICOM IOD" in line]
            self.assertEqual(len(extended), len(extensions) + 1, said)  # and that it is extended
            for attribute, line in zip(extensions, extended):
                self.assertIn(attribute, line)
            said = [line for line in said if line not in extended]
        self.assertEqual(said, [], file)

    def check(self, service, job, extensions=()):
        """Both forms of a job; the multi-frame object. `extensions`: of CT images."""
        forms, reference = self.fetch(service, job)
        self.assertEqual((len(forms[CT]), len(forms[XRAY_3D])), (support.SLICES, 1))
        self.expect_volume(read_ct(forms[CT]), reference)
        self.expect_volume(read_xray3d(forms[XRAY_3D][0]), reference)
        self.expect_valid(forms[CT][0], extensions)
        self.expect_valid(forms[XRAY_3D][0])
        volume, image = (pydicom.dcmread(f[0], stop_before_pixels=True) for f in (forms[XRAY_3D], forms[CT]))
        for keyword in ("PatientName", "StudyInstanceUID", "AccessionNumber", "FrameOfReferenceUID"):
            self.assertEqual(volume[keyword].value, image[keyword].value)
        self.assertNotEqual(volume.SeriesInstanceUID, image.SeriesInstanceUID)
        return volume

    def test_both_forms_are_the_raw_volume(self):
        service = self.service()
        result = self.stream(
            service,
            *("--patient-name", PATIENT, "--manufacturer", "Arm Works", "--model", "Rotor 7"),
            *("--serial-number", "RW-0042", "--institution", "General Hospital", "--performing-physician", "House^Gregory"),
            *("--tube-voltage", 90, "--exposure", 480, "--dose-area-product", 312.25),
        )
        self.assertEqual(result["instance_count"], support.INSTANCES)
        volume = self.check(service, result["job_id"])
        self.assertEqual(str(volume.PatientName), PATIENT)
        self.assertEqual(volume.ContributingSourcesSequence[0].DeviceSerialNumber, "RW-0042")
        self.assertEqual(volume.PerformingPhysicianName, "House^Gregory")
        acquisition = volume.XRay3DAcquisitionSequence[0]
        self.assertEqual((acquisition.KVP, acquisition.ExposureInmAs), (90, 480))
        self.assertGreater(acquisition.PrimaryPositionerScanArc, 180)
        self.assertEqual(volume.XRay3DReconstructionSequence[0].AlgorithmType, "FILTER_BACK_PROJ")
        self.assertEqual(volume.AcquisitionContextSequence[0].NumericValue, 312.25)

    def test_through_dicom_web(self):
        """What a viewer gets of both forms from a PACS that has pulled them."""
        if not DicomWeb.PLUGIN.exists():
            self.skipTest("the package orthanc-dicomweb is not installed")
        port = process.free_port()
        service = self.service(peers=[(orthanc.AE_TITLE, port)])
        result = self.stream(service)
        pacs = self.orthanc(service, port, settings=DicomWeb.SETTINGS)
        pacs.retrieve(pacs.find_studies(AccessionNumber=support.ACCESSION)[0])
        web = DicomWeb(pacs)
        (study,) = web.search(f"studies?PatientID={support.PATIENT_ID}")
        self.assertEqual(study["0020000D"], result["study_instance_uid"])
        self.assertEqual(study["00100010"], {"Alphabetic": "Test^Head"})
        place = f"studies/{study['0020000D']}/series"
        series = {found["00080060"]: found["0020000E"] for found in web.search(place)}
        self.assertEqual(set(series), {"CT", "XA"})
        _, reference = self.fetch(service, result["job_id"])
        self.expect_volume(read_ct(web.retrieve(f"{place}/{series['CT']}")), reference)
        (volume,) = web.retrieve(f"{place}/{series['XA']}")
        self.expect_volume(read_xray3d(volume), reference)

    def test_a_patient_who_lies_feet_first(self):
        """The same frames of a patient who lies the other way round: the same voxels, elsewhere in the patient."""
        service = self.service()
        volumes, frames = {}, {}
        for position in ("HFS", "FFS"):
            job = self.stream(service, "--patient-position", position)["job_id"]
            volumes[position] = self.check(service, job)  # positions are those of the volume that is fetched
            self.assertEqual(volumes[position].PatientPosition, position)
            files = [*(self.folder / job).iterdir()]
            forms = {f: pydicom.dcmread(f, stop_before_pixels=True).SOPClassUID for f in files}
            frames[position] = (
                list(read_ct([f for f in files if forms[f] == CT])),
                list(read_xray3d(*[f for f in files if forms[f] == XRAY_3D])),
            )
        # Turned by half about the vertical axis: left becomes right, head becomes feet.
        turn = numpy.array([-1, 1, -1])
        for head_first, feet_first in zip(frames["HFS"], frames["FFS"]):
            there = {key(position): (pixels, orientation) for pixels, position, orientation, _ in feet_first}
            self.assertEqual(len(there), support.SLICES)
            for pixels, position, orientation, _ in head_first:
                turned_pixels, turned_orientation = there[key(vector(position) * turn)]
                numpy.testing.assert_array_equal(turned_pixels, pixels)
                cosines = vector(orientation).reshape(2, 3) * turn
                numpy.testing.assert_allclose(vector(turned_orientation).reshape(2, 3), cosines, atol=1e-9)
        # The positioner's angles are about the patient: it turns the other way.
        head_first, feet_first = (volumes[p].XRay3DAcquisitionSequence[0] for p in ("HFS", "FFS"))
        self.assertAlmostEqual(head_first.PrimaryPositionerScanArc, feet_first.PrimaryPositionerScanArc, 3)
        self.assertAlmostEqual(head_first.PrimaryPositionerIncrement, -feet_first.PrimaryPositionerIncrement, 3)

    def test_a_refinement_belongs_to_its_source(self):
        service = self.service()
        result = self.stream(service, "--protocol", "fdk_then_ossart")
        source = self.check(service, result["job_id"])
        refinement = f"{result['job_id']}-ref"
        isocenter.must("watch", refinement, "--server", service.grpc)
        refined = self.check(service, refinement)
        self.assertEqual(refined.StudyInstanceUID, source.StudyInstanceUID)
        self.assertEqual(refined.FrameOfReferenceUID, source.FrameOfReferenceUID)
        self.assertEqual(refined.XRay3DReconstructionSequence[0].AlgorithmType, "ITERATIVE")
        reference = refined.SharedFunctionalGroupsSequence[0].ReferencedImageSequence[0]
        self.assertEqual(reference.ReferencedSOPInstanceUID, source.SOPInstanceUID)

    def test_a_phase_is_named_where_it_is_known_whose_it_is(self):
        service = self.service()
        heart = self.folder / "heart"
        isocenter.must(
            *("simulate", "--phantom", "thorax", "--out", heart, "--organ-motion", "heart", "--cycles", "12"),
            *("--frames", "200", "--detector", "62x48", "--pitch-mm", "6", "--patient-id", support.PATIENT_ID),
        )
        groups = {
            "cardiac": ("CardiacSynchronizationSequence", "NominalPercentageOfCardiacPhase", "NominalCardiacTriggerDelayTime"),
            "respiratory": (
                *("RespiratorySynchronizationSequence", "NominalPercentageOfRespiratoryPhase"),
                "NominalRespiratoryTriggerDelayTime",
            ),
        }
        for cycle, (group, percentage, delay) in groups.items():
            streamed = isocenter.json_of(
                "stream", heart, "--server", service.grpc, *support.GRID, "--fps", "100", "--phase-cycle", cycle
            )
            refined = isocenter.json_of("refine", streamed["job_id"], "--phase", "0.25", "--wait", "--server", service.grpc)
            name = f"Nominal Percentage of {cycle.title()} Phase"
            volume = self.check(service, refined["job_id"], extensions=(name,))
            item = volume.SharedFunctionalGroupsSequence[0][group].value[0]
            self.assertEqual(item[percentage].value, 25)
            # 12 cycles in 199 hundredths of a second.
            self.assertAlmostEqual(item[delay].value, 0.25 * 1990 / 12, delta=5)
            self.assertTrue(volume.SeriesDescription.startswith(f"{cycle} phase 25 % (fdk) "), volume.SeriesDescription)
            self.assertIn(f"{cycle} phase 25 % of width 20 %", volume.ImageComments)
            self.assertEqual(volume.XRay3DReconstructionSequence[0].AlgorithmType, "FILTER_BACK_PROJ")
            source = self.check(service, streamed["job_id"])
            self.assertEqual(volume.FrameOfReferenceUID, source.FrameOfReferenceUID)
            self.assertNotIn(group, source.SharedFunctionalGroupsSequence[0])

    def test_a_pair_shares_its_frame_of_reference(self):
        service = self.service()
        halves = [self.stream(service, "--pair", "p1", "--role", role)["job_id"] for role in ("mask", "fill")]
        volumes = [self.check(service, half) for half in halves]
        subtraction = f"{halves[1]}-sub"
        # It is a job once the places of both halves have been given back, after their results were told.
        process.wait_until(
            lambda: subtraction in isocenter.must("jobs", "--server", service.grpc), 120, "the job of the difference"
        )
        isocenter.must("watch", subtraction, "--server", service.grpc)
        volumes.append(self.check(service, subtraction))
        self.assertEqual(len({v.FrameOfReferenceUID for v in volumes}), 1)
        self.assertEqual(len({v.StudyInstanceUID for v in volumes}), 1)
        derivation = volumes[2].SharedFunctionalGroupsSequence[0].DerivationImageSequence[0]
        named = {source.ReferencedSOPInstanceUID for source in derivation.SourceImageSequence}
        self.assertEqual(named, {v.SOPInstanceUID for v in volumes[:2]})


if __name__ == "__main__":
    support.main()
