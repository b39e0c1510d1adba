// Scatter of a simulated acquisition: by Monte Carlo, or from the file of an earlier run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/interrupt.h"
#include "client/cli/options/physics_file.h"
#include "client/cli/physics_frames.h"
#include "client/formats/scatter_file.h"
#include "kernels/base/thread_pool.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter::cli {

/// A simulated acquisition, as far as its scatter depends on it.
struct ScatteringScan {
  const PhysicsSetup& setup;  // with scatter
  const Exposed& exposed;     // with an object
  const Detector& detector;
  const Trajectory& trajectory;
  std::vector<double> row_intensity;  // physics::RowBeams::Open
  std::string backend = "cpu";        // or one of OpenPhotonEngine's
  int64_t memory_bytes = 0;           // of its device; 0: all
};

/// Reads the file of `setup.scatter` if there is one, else follows the photons and, where a file is
/// named, writes it. Errors: those of ReadScatter and WriteScatter; FAILED_PRECONDITION (the file
/// is of another scan, saying in what); OpenPhotonEngine's and PhotonEngine::Follow's; CANCELLED.
absl::StatusOr<formats::StoredScatter> EstimateScatter(const ScatteringScan& scan, ThreadPool& pool,
                                                       const Interrupt& interrupt);

}  // namespace isocenter::cli
