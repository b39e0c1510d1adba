// Doses that change from frame to frame, though nothing tells or corrects them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/frame_row.h"

namespace isocenter::recon {

/// Another dose adds the same to all line integrals of a frame. What a frame differs by from the
/// one before is looked at in small pieces of its rows: where the object moves, some rise and
/// others fall, and the middle one of all hardly changes; it changes with the dose. What the object
/// still does to it goes on evenly over neighbouring frames.
///
/// A scan is told of where lines through the levels of eight frames before and after one are apart
/// by more than kMostStep, and by many times what frames scatter around them. A dose that flickers
/// from frame to frame does nothing to a volume (±20 %: 2 HU in the mean), one that changes slowly
/// looks like an object that does: neither is told.
///
/// Says nothing of frames whose doses the calibration reads from strips of air, nor of frames more
/// than kMostGapDeg apart. Not thread-safe.
class DoseSteps {
 public:
  static constexpr double kMostStep = 0.05;  // line integral
  static constexpr double kMostGapDeg = 5;

  /// `acquisition`: valid, and must outlive this.
  explicit DoseSteps(const Acquisition& acquisition);

  /// Some rows of a view, the same of each, each view once, in any order. `dose`: what the frame
  /// tells; 0: nothing.
  void Add(int view, std::span<const FrameRow> rows, double dose);

  /// What is wrong when all views have come, as a sentence for people; nothing where nothing is.
  std::optional<std::string> Text() const;

 private:
  /// Of runs of views, without those that are not known: by how much the line integrals of each are
  /// above those of the first, as a dose makes them.
  struct Levels {
    int first = 0;  // view
    std::vector<double> of_view;
  };
  std::vector<Levels> Runs() const;

  const Acquisition& acquisition_;
  bool judges_ = false;
  std::vector<std::vector<float>> pieces_;  // [view]: line integrals; empty: not come
};

}  // namespace isocenter::recon
