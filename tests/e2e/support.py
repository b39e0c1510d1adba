"""What every end-to-end test starts from: a folder, services that are stopped at the end, a small acquisition."""

import functools
import json
import pathlib
import shutil
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from lab import isocenter, orthanc, process  # noqa: E402

# 64^3 voxels of 3 mm hold the head phantom; 100 frames keep streaking below the bounds that the tests state.
GRID = ("--grid", "64x64x64", "--voxel-mm", "3")
SLICES = 64
INSTANCES = SLICES + 1  # and the multi-frame object
ACCESSION = "E2E001"
PATIENT_ID = "E2E-PATIENT"
EXIT_SKIPPED = 77


@functools.lru_cache(maxsize=None)
def _bundle(*options):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="isocenter-e2e-"))
    unittest.addModuleCleanup(shutil.rmtree, folder, ignore_errors=True)
    isocenter.must(
        *("simulate", "--phantom", "head", "--out", folder / "bundle"),
        *("--trajectory", "carm", "--frames", 100, "--detector", "155x120", "--pitch-mm", 2.464),
        *("--seed", 1, "--patient-name", "Test^Head", "--patient-id", PATIENT_ID),
        *("--accession", ACCESSION, "--study-description", "End to end"),
        *options,
    )
    return folder / "bundle"


class ServiceTest(unittest.TestCase):
    """A test case with its own folder."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="isocenter-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def bundle(self, *options):
        """The small head acquisition; simulated once per test file."""
        return _bundle(*options)

    def service(self, name="service", **options):
        service = isocenter.Service(self.folder / name, **options)
        self.addCleanup(service.stop)
        return service.start()

    def orthanc(self, service, dicom_port, **options):
        pacs = orthanc.Orthanc(self.folder / "orthanc", service.dicom_port, dicom_port, **options)
        self.addCleanup(pacs.stop)
        return pacs.start()

    def background(self, argv, name):
        child = process.Process(argv, self.folder / f"{name}.log")
        self.addCleanup(child.stop)
        return child

    def stream(self, service, *options):
        """Streams the small acquisition; the summary that isocenter writes."""
        bundle = self.bundle()
        try:
            return isocenter.json_of("stream", bundle, "--server", service.grpc, *GRID, *options)
        except process.LabError as error:
            code = service.process.exit_code()
            state = "runs" if code is None else f"has ended with exit code {code}"
            log = service.process.output()[-2000:]
            raise process.LabError(f"{error}\nisocenterd {state}; the end of its log:\n{log}") from None

    def fetch_voxels(self, service, job):
        """The volume's samples as bytes."""
        file = self.folder / f"{job}.mha"
        isocenter.must("fetch", job, "--server", service.grpc, "--format", "mha", "--out", file, "--overwrite")
        header, mark, voxels = file.read_bytes().partition(b"ElementDataFile = LOCAL\n")
        self.assertTrue(mark, header[:500])
        return voxels


def read_json(file):
    return json.loads(pathlib.Path(file).read_text())


def need(tool, package):
    """The path of a peer's program; the test is skipped where it is missing."""
    try:
        return process.find_tool(tool, package)
    except process.LabError as error:
        raise unittest.SkipTest(str(error)) from None


def main():
    """Runs the tests of the calling file; exit status 77 tells ctest that nothing could run."""
    result = unittest.main(exit=False, verbosity=2).result
    # A module that is skipped as a whole counts as skipped, and its tests as not run.
    if result.wasSuccessful() and result.skipped and len(result.skipped) >= result.testsRun:
        sys.exit(EXIT_SKIPPED)
    sys.exit(not result.wasSuccessful() or result.testsRun == 0)
