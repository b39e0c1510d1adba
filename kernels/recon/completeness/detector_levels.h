// Pixels that are overexposed, show nothing, or are all cut off at one value.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/frame_row.h"

namespace isocenter::recon {

/// What some rows of each frame say of the detector. Overexposed are counts at the full scale of
/// the calibration; without one, the frame's highest count but for hot pixels where many pixels
/// have it and it is brighter than air may be, or where they lie in long runs and others have
/// noise: no exposure gives so many pixels one count. Of line integrals, many that are the highest
/// have been cut off there. Thread-safe.
class DetectorLevels {
 public:
  static constexpr double kMost = 0.01;       // of the pixels that are looked at
  static constexpr double kMostHidden = 0.9;  // a line integral that can be recovered

  /// `acquisition`: valid, and must outlive this.
  explicit DetectorLevels(const Acquisition& acquisition);

  struct Levels {
    double at_highest = 0;     // share of the pixels that are overexposed, or cut off
    double highest = 0;        // counts, or a line integral
    double silent = 0;         // share of the pixels whose counts are 0
    bool is_constant = false;  // all are the same
  };
  /// `rows`: some of a frame.
  Levels Look(std::span<const FrameRow> rows) const;

  /// As sentences for people; nothing where nothing is wrong. `dose`: what the frame tells; 0:
  /// nothing.
  std::optional<std::string> Overexposed(const Levels& levels, double dose) const;
  std::optional<std::string> Silent(const Levels& levels) const;

 private:
  Levels OfCounts(std::span<const FrameRow> rows) const;

  const Acquisition& acquisition_;
  double full_scale_ = 0;       // counts; 0: not known
  double full_scale_dose_ = 0;  // at which air reaches it
};

}  // namespace isocenter::recon
