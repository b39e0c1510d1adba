// The X-rays of each row of a detector.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/detector.h"
#include "kernels/physics/beam.h"
#include "kernels/physics/bow_tie.h"
#include "kernels/physics/tungsten.h"

namespace isocenter::physics {

/// One beam for all rows, or one for each.
class RowBeams {
 public:
  explicit RowBeams(Beam beam) : beams_{std::move(beam)} {}

  /// The heel effect of a tube whose axis is along the detector's columns: row v sees the anode at
  /// its angle plus that between the row and the middle of the detector, so that the anode is
  /// beyond row 0. Intensity and spectrum are the row's; readings relate to a pixel in the middle.
  /// `csi_mm` and `materials` as Beam::Make. Errors: those of ValidateTube and Beam::Make;
  /// INVALID_ARGUMENT where row 0 sees the anode at less than kLeastTakeOffDeg. All are behind the
  /// middle of `bow_tie`, if there is one.
  static absl::StatusOr<RowBeams> WithHeel(const Tube& tube, double csi_mm,
                                           const std::vector<Material>& materials,
                                           const Detector& detector, double source_to_detector_mm,
                                           const BowTie* bow_tie = nullptr);

  /// What each row of the detector has without an object, over the middle; empty where all are
  /// alike.
  std::vector<double> Open() const;

  const Beam& Of(int64_t row) const { return beams_.size() == 1 ? beams_[0] : beams_[row]; }

 private:
  RowBeams() = default;
  std::vector<Beam> beams_;
};

inline constexpr double kLeastTakeOffDeg = 1;

}  // namespace isocenter::physics
