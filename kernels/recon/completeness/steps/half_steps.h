// Halves of a detector whose gain changes in mid-scan.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/frame_row.h"
#include "kernels/recon/completeness/steps/piece_levels.h"

namespace isocenter::recon {

/// Halves of a panel have amplifiers of their own. Where the gain of one changes in mid-scan, all
/// line integrals of it are off by the same from then on, in air and behind the object alike: the
/// level of its pieces (PieceLevels) steps against that of the other half. Doses of frames, told or
/// not, are in both and fall out. Left and right, upper and lower halves are compared.
///
/// Needs no air: where a side, or both, see the object all along, their levels change as it turns,
/// but most pieces of a half do not jump alike from one frame to the next. A difference that is
/// there from the first frame on, or grows slowly, is not told. Not thread-safe.
class HalfSteps {
 public:
  static constexpr double kMostStep = 0.02;  // line integral

  /// `acquisition`: valid, and must outlive this.
  explicit HalfSteps(const Acquisition& acquisition);

  /// Some rows of a view, the same of each, from the upper half of the detector to the lower, each
  /// view once, in any order.
  void Add(int view, std::span<const FrameRow> rows);

  /// What is wrong when all views have come, as a sentence for people; nothing where nothing is.
  std::optional<std::string> Text() const;

 private:
  int rows_ = 0;  // of a view
  PieceLevels levels_;
};

}  // namespace isocenter::recon
