"""The checker itself: planted faults are found, and what is allowed is not complained about."""

import pathlib
import shutil
import sys
import tempfile
import unittest

import check_layers

ROOT = pathlib.Path(__file__).resolve().parents[2]


class CheckLayersTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        (self.root / "docs").mkdir()
        shutil.copy(ROOT / "docs/rooms.md", self.root / "docs")

    def complaints(self, path, *includes):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"#include {include}\n" for include in includes))
        return check_layers.check(self.root)[0]

    def test_allowed(self):
        for path, include in [
            ("kernels/cpu/filter.cc", '"kernels/ops/registry.h"'),
            ("kernels/cpu/filter.cc", '"kernels/base/views.h"'),  # through ops and geometry
            ("kernels/cpu/filter.cc", "<hwy/highway.h>"),
            ("kernels/cpu/filter.cc", '"kernels/cpu/filter.cc"'),
            ("kernels/base/pool.cc", "<vector>"),
            ("kernels/base/pool.cc", "<sys/mman.h>"),
            ("kernels/base/pool.cc", '"absl/status/status.h"'),
            ("server/rpc/server.cc", "<grpcpp/server.h>"),
            ("server/rpc/server.cc", '"isocenter/v1/jobs.grpc.pb.h"'),
            ("server/config/load.cc", '"isocenter/v1/protocols.pb.h"'),
            ("server/dicom/scp/node.cc", '"server/jobs/job.h"'),  # through archive
            ("client/formats/dicom_series.cc", '"dcmtk/dcmdata/dctk.h"'),
        ]:
            with self.subTest(path=path, include=include):
                self.assertEqual(self.complaints(path, include), [])

    def test_a_crowded_folder(self):
        for file in range(45):
            self.assertEqual(self.complaints(f"kernels/base/file{file}.cc", "<vector>"), [])
        self.assertEqual(
            self.complaints("kernels/base/file45.cc", "<vector>"), ["kernels/base: has 46 files; legal is up to 45"]
        )

    def test_forbidden(self):
        for path, include in [
            ("kernels/reference/filter.cc", '"kernels/cpu/filter.h"'),
            ("kernels/cpu/filter.cc", '"kernels/reference/filter.h"'),
            ("kernels/cuda/filter.cu", '"kernels/reference/filter.h"'),
            ("kernels/base/pool.cc", '"kernels/geometry/vec3.h"'),  # upward
            ("kernels/recon/fdk.cc", '"kernels/cpu/register.h"'),  # recipes know no backend
            ("kernels/ops/device.h", '"isocenter/v1/geometry.pb.h"'),
            ("kernels/recon/fdk.cc", '"server/jobs/job.h"'),
            ("server/jobs/job.h", '"server/rpc/service.h"'),
            ("server/jobs/job.h", "<grpcpp/grpcpp.h>"),
            ("server/pipeline/runs/run.cc", '"isocenter/v1/jobs.pb.h"'),
            ("server/config/load.cc", '"isocenter/v1/jobs.grpc.pb.h"'),
            ("server/rpc/service.cc", "<dcmtk/config/osconfig.h>"),
            ("client/formats/bundle.cc", "<dcmtk/config/osconfig.h>"),
            ("server/jobs/job.cc", "<sqlite3.h>"),
            ("server/rpc/service.cc", "<prometheus/counter.h>"),
            ("kernels/cpu/filter.cc", "<cuda_runtime.h>"),
            ("server/daemon/main.cc", '"tests/support/server.h"'),
            ("kernels/cpu/filter.cc", "<fftw3.h>"),  # a library that no table lists
            ("server/unheard_of/thing.cc", "<vector>"),  # a room that no table lists
        ]:
            with self.subTest(path=path, include=include):
                found = self.complaints(path, include)
                self.assertEqual(len(found), 1)
                self.assertTrue(found[0].startswith(path), found[0])
                (self.root / path).unlink()

    def test_names_the_line(self):
        found = self.complaints("kernels/base/pool.cc", "<vector>", '"kernels/ops/device.h"')
        self.assertTrue(found[0].startswith("kernels/base/pool.cc:2:"), found[0])

    def test_cycle_in_the_table_is_refused(self):
        page = self.root / "docs/rooms.md"
        row = "| `kernels/base` | views, units, Status macros, thread pool, checksum | |"
        self.assertIn(row, page.read_text())
        page.write_text(page.read_text().replace(row, "| `kernels/base` | x | `kernels/ops` |"))
        with self.assertRaisesRegex(check_layers.TableError, "cycle"):
            check_layers.check(self.root)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
