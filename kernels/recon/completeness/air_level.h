// Whether the air of raw counts is where i0_counts or the calibration says.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/frame_row.h"

namespace isocenter::recon {

/// Counts are divided by i0_counts, or by the air that their calibration has, and by the dose that
/// the frame tells: where air reads another number, each line integral is off by the same, and the
/// volume with it. Air is what a frame's rows end with, at both sides, where it is flat.
///
/// Above that nothing can be: a scan is wrong where the middle of the rows' ends is brighter
/// by more than kMostOff in more than kViews of the views. Darker ends may be an object that the
/// detector cuts; they are air where they are also flat, the same at both sides and in all those
/// views. Says nothing of frames whose dose is read from their air, of a calibration with an air
/// sweep, whose air is another one at each angle, or of line integrals. Not thread-safe.
class AirLevel {
 public:
  static constexpr double kMostOff = 0.05;  // line integral
  static constexpr double kViews = 0.5;

  /// `acquisition`: valid, and must outlive this.
  explicit AirLevel(const Acquisition& acquisition);

  /// Some rows of a view, each view once, in any order. `dose`: what the frame tells; 0: nothing.
  /// True for the view with which the scan becomes one whose air is off, and never again.
  bool Add(std::span<const FrameRow> rows, double dose);

  /// What is off, as a sentence for people.
  std::string Text() const;

 private:
  struct Ends {
    double line = 0;  // of the outermost columns, the middle of rows and sides
    bool flat = false;
  };
  std::optional<Ends> EndsOf(std::span<const FrameRow> rows, double dose) const;
  bool ReadsDoses() const;

  const Acquisition& acquisition_;
  const int columns_;                  // the outermost ones, at either side
  int needed_ = 0;                     // views
  std::vector<double> bright_, dark_;  // line integrals of views
  double line_ = 0;
  bool dose_told_ = false;  // by the last view
  bool said_ = false;
};

}  // namespace isocenter::recon
