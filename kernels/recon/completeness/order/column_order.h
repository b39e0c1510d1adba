// Columns that are not in their order, and light and dark exchanged.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/frame_row.h"

namespace isocenter::recon {

/// A frame's rows begin and end with air, or with what an object has at either side, and in their
/// middle is the thickest of it. Told of are, where all but a few of the rows that see an object
/// are so, in all but a few of the views:
/// - the halves of the frames exchanged: the last column goes on where the first begins, much
///   nearer than first and last columns of different views are to each other, and the middle is
///   much thinner than the ends;
/// - light and dark exchanged (counts alone): both ends are darker than all between them, and flat.
///   Blades of a collimator at both sides look so, too, and the halves of frames of an object that
///   is wider than the detector.
/// Not thread-safe.
class ColumnOrder {
 public:
  static constexpr double kObject = 0.3;  // a line integral
  static constexpr double kShare = 0.9;   // of rows and of views

  /// `acquisition`: valid, and must outlive this.
  explicit ColumnOrder(const Acquisition& acquisition);

  /// Some rows of a view, each view once, in any order. `dose`: what the frame tells; 0: nothing.
  void Add(std::span<const FrameRow> rows, double dose);

  /// What is wrong when all views have come, as a sentence for people; nothing where nothing is.
  std::optional<std::string> Text() const;

 private:
  std::optional<std::string> DarkAirText() const;
  std::optional<std::string> HalvesText() const;

  const Acquisition& acquisition_;
  const int columns_;  // the outermost ones, at either side
  int views_ = 0, dark_views_ = 0;
  int rows_ = 0, thin_rows_ = 0;  // that begin and end in the object; of them, thin in the middle
  double apart_ = 0;              // of first and last columns, squared
  double first_ = 0, first_squares_ = 0;
};

}  // namespace isocenter::recon
