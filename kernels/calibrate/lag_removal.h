// Takes lag off the frames of a scan that a fit looks at.
#pragma once

#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "kernels/ops/calibration.h"

namespace isocenter::calibrate {

/// An object that stands beside the axis moves over the detector, and what a pixel keeps of the
/// frame before is of another chord. The detector is at rest before the first frame.
class LagRemoval {
 public:
  explicit LagRemoval(std::vector<ops::LagTerm> terms) : terms_(std::move(terms)) {}

  /// The next frame (Normalized), in place: each term has kept a share of each exposure x and
  /// releases a part of that in each frame, y = (1 - sum of shares)·x + released, solved for x.
  /// All frames are of one size.
  void Run(std::span<float> frame) {
    kept_.resize(terms_.size() * frame.size());
    double prompt = 1;
    for (const ops::LagTerm& term : terms_) prompt -= term.share;
    for (size_t i = 0; i < frame.size(); ++i) {
      if (std::isnan(frame[i])) continue;  // a defect, in all frames
      double released = 0;
      for (size_t n = 0; n < terms_.size(); ++n) {
        released += terms_[n].release * kept_[n * frame.size() + i];
      }
      const double exposed = (frame[i] - released) / prompt;
      for (size_t n = 0; n < terms_.size(); ++n) {
        double& kept = kept_[n * frame.size() + i];
        kept = (1 - terms_[n].release) * kept + terms_[n].share * exposed;
      }
      frame[i] = static_cast<float>(exposed);
    }
  }

 private:
  const std::vector<ops::LagTerm> terms_;
  std::vector<double> kept_;  // [term][pixel]
};

}  // namespace isocenter::calibrate
