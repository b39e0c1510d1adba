// Doses that change from frame to frame, though nothing tells or corrects them.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/frame_row.h"
#include "kernels/recon/completeness/steps/piece_levels.h"

namespace isocenter::recon {

/// A scan is told of where the level of all its pieces (PieceLevels) steps by more than kMostStep.
/// A dose that flickers from frame to frame does nothing to a volume (±20 %: 2 HU in the mean), one
/// that changes slowly looks like an object that does: neither is told.
///
/// Says nothing of frames whose doses the calibration reads from strips of air. Not thread-safe.
class DoseSteps {
 public:
  static constexpr double kMostStep = 0.05;  // line integral

  /// `acquisition`: valid, and must outlive this.
  explicit DoseSteps(const Acquisition& acquisition);

  /// Some rows of a view, the same of each, each view once, in any order. `dose`: what the frame
  /// tells; 0: nothing.
  void Add(int view, std::span<const FrameRow> rows, double dose);

  /// What is wrong when all views have come, as a sentence for people; nothing where nothing is.
  std::optional<std::string> Text() const;

 private:
  const Acquisition& acquisition_;
  PieceLevels levels_;
};

}  // namespace isocenter::recon
