// Rays through more water than a calibration was fitted to.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/frame_row.h"

namespace isocenter::recon {

/// Beyond the thickest water that they were fitted to, a water polynomial and scatter kernels go on
/// as a guess. A polynomial of a cylinder of 160 or 200 mm, which calibrate::ChordOfLineIntegral
/// continues with its last slope, is off by 0.2 % of a line integral at most up to 250 mm and by
/// 0.6 % at 300 mm: up to kWaterReach times its range it is right. Kernels made a cylinder wrong by
/// 57 HU at 1.26 times theirs, and by 123 HU at 1.4 times (docs/corrections.md).
///
/// Looked at are blocks of ops::kCoarseBlock pixels of some rows of up to kMostViews views, with
/// glare and scatter taken off as the set says on these few rows alone (a row stands for those
/// around it): without that a thick patient would not be told from a thinner one that scatters
/// less. Rays of the patient are those through kLeastMm of water or more. Scans are told of where
/// more than kShare of them are beyond either; where no range is known, nothing is. Lag and the air
/// of the angle are left as they are, and doses of frames that do not tell theirs are roughly those
/// of the set's air strips, else 1. Not thread-safe.
class ThickRays {
 public:
  static constexpr int kMostViews = 12;
  static constexpr double kLeastMm = 20;
  static constexpr double kWaterReach = 1.25, kScatterReach = 1.1;
  static constexpr double kShare = 0.02;

  /// `acquisition`: valid, and must outlive this.
  explicit ThickRays(const Acquisition& acquisition);

  /// Some rows of a view, the same of each and evenly over the detector, each view once, in any
  /// order. `dose`: what the frame tells; 0: nothing.
  void Add(int view, std::span<const FrameRow> rows, double dose);

  /// What is beyond when all views have come, as a sentence for people; nothing where nothing is.
  std::optional<std::string> Text() const;

 private:
  /// Of the patient's rays, in mm of water, as one of the parts computes it.
  using Thicknesses = std::vector<float>;

  std::vector<double> Arrived(std::span<const FrameRow> rows, double dose) const;
  double DoseOf(std::span<const FrameRow> rows) const;

  const Acquisition& acquisition_;
  int step_ = 0;  // between views that are looked at; 0: none is
  Thicknesses for_water_, for_scatter_;
};

}  // namespace isocenter::recon
