// Whether frames show an object at all, and in the unit that they are said to have.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/frame_row.h"

namespace isocenter::recon {

/// Line integrals are ln(I0 / I): what attenuates is above 0, and nothing that a detector sees is
/// above ops::kLongestLineIntegral. A scan is told of where of its values (pairs of neighbours in
/// some rows of up to kMostViews views)
/// - more are below -kObject than above kObject: the logarithm's sign is wrong;
/// - more than kTooLong are beyond what is legal: they are in another unit;
/// - no more than kEmpty are above kObject in any view: nothing is in the beam. Of counts whose
/// dose
///   is not told, above kObject more than the brightest quarter.
/// The first two of line integrals alone. Not thread-safe.
class BeamContent {
 public:
  static constexpr int kMostViews = 32, kLeastViews = 2;
  static constexpr double kObject = 0.1;   // a line integral: 5 mm of water
  static constexpr double kTooLong = 0.1;  // of the values; metal is less
  static constexpr double kEmpty = 0.002;  // of a view's values; more is a wire

  /// `acquisition`: valid, and must outlive this.
  explicit BeamContent(const Acquisition& acquisition);

  /// Some rows of a view, each view once, in any order. `dose`: what the frame tells; 0: nothing.
  void Add(int view, std::span<const FrameRow> rows, double dose);

  /// What is wrong when all views have come, as a sentence for people; nothing where nothing is.
  std::optional<std::string> Text() const;

 private:
  const Acquisition& acquisition_;
  const int step_;  // between views that are looked at
  int views_ = 0;
  int64_t values_ = 0, negative_ = 0, object_ = 0, too_long_ = 0;
  double fullest_ = 0;  // the largest share of a view's values that an object attenuates
};

}  // namespace isocenter::recon
