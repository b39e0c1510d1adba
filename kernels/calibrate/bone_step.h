// Steps of bone behind steps of water: which there are, and what a still beam shows of each.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/projection_matrix.h"

namespace isocenter::calibrate {

inline constexpr int kMostBoneSteps = 200;
inline constexpr double kMostStepWaterMm = 600, kMostStepBoneMm = 200;

struct BoneStepFile {
  std::string path;
  double water_mm = 0, bone_mm = 0;
};

/// A table of text, one step on each line: path of its acquisition, mm of water, mm of bone (see
/// ParseTextTable). Errors: INVALID_ARGUMENT with the line number.
absl::StatusOr<std::vector<BoneStepFile>> ParseBoneSteps(absl::string_view text);

/// Rays that are looked at are so close to the one that meets the detector squarely, of which the
/// slabs stand across: there their way through slabs is at most 0.06 % longer.
inline constexpr double kStepTangent = 0.035;
/// Between the quarters of what is looked at (% of the mean): a step's border is within.
inline constexpr double kMostStepSpreadPercent = 3;

/// The mean transmission of one step.
class BoneStepMean {
 public:
  /// `frame` as Transmission makes it; `matrix` of any positive scale. Errors: INVALID_ARGUMENT
  /// (matrix), FAILED_PRECONDITION (the square ray misses the detector).
  absl::Status Add(std::span<const float> frame, const ProjectionMatrix& matrix,
                   const Detector& detector);
  /// -ln of the mean of all frames. Errors: FAILED_PRECONDITION (nothing comes through, or the
  /// figure and its bound).
  absl::StatusOr<double> LineIntegral() const;

 private:
  struct Quarter {
    double sum = 0;
    int64_t pixels = 0;
  };
  std::array<Quarter, 4> quarters_;
};

}  // namespace isocenter::calibrate
