// Whether what is scanned is wider than the detector, while the frames come.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/frame_row.h"

namespace isocenter::recon {

/// A row of a frame ends inside of the object where the mean line integral of its outermost columns
/// is above kCutLine at either side (of a displaced detector at its wide side; the other one ends
/// there on purpose). A scan is cut where more than kCutRows of the rows do in more than kCutViews
/// of the views: shoulders below a head, a table on its edge or a cable are not.
///
/// Counts are taken relative to the air of the calibration or the declared intensity, and to the
/// dose that the frame tells; scatter and noise are not removed. Both make the edge look thinner
/// and never thicker than it is.
///
/// Counts that end alike and flat at both sides, over a sixteenth of the row, are those of air that
/// is darker than declared (another dose, for example): it is named as such.
///
/// Not thread-safe. Without truncation correction, a head of which 83 % of the width are seen comes
/// out 50 % wrong (docs/truncation.md).
class CutRows {
 public:
  static constexpr double kCutLine = 0.5;  // 25 mm of water
  static constexpr double kCutRows = 0.25;
  static constexpr double kCutViews = 0.1;

  using Row = FrameRow;

  /// `acquisition`: valid, and must outlive this.
  explicit CutRows(const Acquisition& acquisition);

  /// Some rows of a view, each view once, in any order. `dose`: what the frame tells; 0: nothing.
  /// True for the view with which the scan becomes one that is cut, and never again.
  bool Add(std::span<const Row> rows, double dose);

  /// Whether most of the rows that end with too much show darker air, and no object.
  bool shows_air() const { return 2 * air_rows_ > cut_rows_; }
  /// Why a scan is cut, as a sentence for people. `advice`: what follows where an object is.
  std::string Text(std::string_view advice = {}) const;

 private:
  bool EndsInAir(const Row& row, double dose) const;
  double LineAt(const Row& row, int first_column, double dose) const;

  const Acquisition& acquisition_;
  const int columns_;  // the outermost ones, at either side
  bool look_first_ = true, look_last_ = true;
  int cut_views_ = 0;
  int64_t cut_rows_ = 0, air_rows_ = 0;
  double most_line_ = 0;
};

}  // namespace isocenter::recon
