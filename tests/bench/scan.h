// The scans that are measured.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::bench {

/// A C-arm with a flat panel.
inline constexpr Detector kFullDetector{
    .columns = 1240, .rows = 960, .pitch_u_mm = 0.308, .pitch_v_mm = 0.308};

/// `views` matrices for kFullDetector, spread over all of a trajectory file; without a file, a
/// wobbling C-arm. Errors: those of the file, INVALID_ARGUMENT (it has too few views).
absl::StatusOr<Trajectory> MakeTrajectory(const std::string& file, int views);

struct ScanCase {
  Detector detector;
  Trajectory trajectory;
  VolumeGrid grid;
};

/// R512, R1024, R2048: a C-arm's flat panel over 200°, as in the literature's benchmarks, 496
/// views, a cube of 256 mm. H256: the same panel with 2x2 pixels summed, 248 views, 256³ voxels of
/// 1 mm, for CPUs. S512: a small panel, full circle, 360 views. C512: a C-arm as it was measured,
/// or one that wobbles like it (MakeTrajectory), 494 views. `views` other than 0 replaces these
/// numbers. Errors: INVALID_ARGUMENT (unknown name), those of MakeTrajectory.
absl::StatusOr<ScanCase> MakeScanCase(const std::string& name, int views,
                                      const std::string& trajectory);

}  // namespace isocenter::bench
