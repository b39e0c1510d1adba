// By how much the line integrals of frames are above those of the first, as gains make them, and
// where that changes at once.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/frame_row.h"

namespace isocenter::recon {

/// Another gain, or dose, adds the same to all line integrals that it is of. What a frame differs
/// by from the one before is looked at in small pieces of its rows: where the object moves, some
/// rise and others fall, and the middle one of all hardly changes; it changes with the gain. What
/// the object still does to it goes on evenly over neighbouring frames.
///
/// Not thread-safe.
class PieceLevels {
 public:
  static constexpr int kPieces = 32;        // of a row
  static constexpr double kMostGapDeg = 5;  // of frames that are compared

  /// Of runs of views that came, each not further from the one before than kMostGapDeg.
  struct Run {
    int first = 0;                // view
    std::vector<double> of_view;  // line integrals above those of the first
  };
  /// Which pieces are looked at: of 0 to kPieces - 1 along a row, of the given rows by their index.
  using Part = std::function<bool(int piece, int row)>;

  /// `acquisition`: valid, and must outlive this.
  explicit PieceLevels(const Acquisition& acquisition);

  /// Some rows of a view, the same of each, each view once, in any order. `dose`: what the frame
  /// tells; 0: nothing.
  void Add(int view, std::span<const FrameRow> rows, double dose);

  /// The middles of what the pieces of a part change by, added up; none of narrow detectors.
  std::vector<Run> Runs(const Part& part) const;

  /// By how much each piece of a part changes more from the view before to this one than from that
  /// to the one before, and from this one to the next, in the middle of both; nothing where one of
  /// the four has not come.
  std::vector<double> Jumps(int view, const Part& part) const;

 private:
  bool IsIn(const Part& part, size_t index) const;

  const Acquisition& acquisition_;
  std::vector<std::vector<float>> pieces_;  // [view]: line integrals, [row][piece]; empty: not come
};

/// All line integrals of a frame and those after it lie higher by so much.
struct LevelStep {
  int view = 0;
  double line = 0;
};

/// Where lines through the levels of eight frames before and after one are apart by more than
/// `least`, and by many times what frames scatter around them, and `is_one` agrees; of those that
/// are near each other the largest, in order.
std::vector<LevelStep> StepsOf(
    std::span<const PieceLevels::Run> runs, double least,
    const std::function<bool(const LevelStep&)>& is_one = [](const LevelStep&) { return true; });

/// The largest of some steps, of which there is one.
LevelStep LargestOf(std::span<const LevelStep> steps);

}  // namespace isocenter::recon
