// Frames of one view while the matrices move on.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/frame_row.h"

namespace isocenter::recon {

/// An arm that stops while the detector goes on gives frames that differ by their noise alone,
/// though their matrices turn on. In small pieces of the rows, what two frames differ by in the
/// even columns is multiplied with the same of the odd ones: their noise knows nothing of each
/// other, and what is left is the object's. For each degree that the matrices turn, squared, it is
/// of about one size all over a scan; views are still where it is, beyond what noise may do, less
/// than kStill of the scan's middle in kLeastFrames or more neighbouring frames, and at once more
/// than kMoves before and after them, 1 / kStill times as much as between them. Wide bodies change
/// little where they are widest, but neither so little, nor so suddenly.
///
/// Frames are compared with the one before, or with the second or fourth before it where that is
/// what it takes to see the object turn. Where that is not seen either (a round object in the
/// middle, much noise) nothing is said, nor of views at the very beginning or end, where the edge
/// of a thin plate may do the same. Not thread-safe.
class StillViews {
 public:
  static constexpr int kLeastFrames = 3;
  static constexpr double kStill = 0.05, kMoves = 0.25;

  /// `acquisition`: valid, and must outlive this.
  explicit StillViews(const Acquisition& acquisition);

  /// Some rows of a view, the same of each, each view once, in any order.
  void Add(int view, std::span<const FrameRow> rows);

  /// What is wrong when all views have come, as a sentence for people; nothing where nothing is.
  std::optional<std::string> Text() const;

 private:
  /// How much of the object a view shows otherwise than the one `gap` before it, by the square of
  /// the turn between them; below 0 by chance.
  struct Change {
    double object = 0, sigma = 0;
  };
  std::optional<Change> ChangeOf(int view, int gap, double least_turn) const;
  std::vector<std::optional<Change>> Changes(int gap) const;
  std::optional<std::string> TextOf(const std::vector<std::optional<Change>>& changes, int gap,
                                    double usual) const;

  const Acquisition& acquisition_;
  const int pieces_;  // of a row
  // [view]: [row][piece][even, odd columns]; empty: not come.
  std::vector<std::vector<float>> lines_;
};

}  // namespace isocenter::recon
