// Rows of a detector that count nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/frame_row.h"

namespace isocenter::recon {

/// Each frame shows some rows, and some frames behind each other all of them: the rows that other
/// checks look at are the same of each frame, and a dead one between them is none of theirs. Told
/// are rows of which nearly all pixels are 0 whenever they are looked at, unless the calibration
/// knows them as defects. Of counts alone. Not thread-safe.
class SilentRows {
 public:
  static constexpr int kStep = 8;           // rows between those of one frame
  static constexpr int kLeastLooks = 2;     // at a row
  static constexpr double kSilent = 0.9;    // of its pixels
  static constexpr double kMostRows = 0.5;  // more are no dead rows, but no exposure

  /// `acquisition`: valid, and must outlive this.
  explicit SilentRows(const Acquisition& acquisition);

  /// Rows of a view that Add wants: this one and every kStep-th after it; none of line integrals.
  int first_row(int view) const;
  /// One of them.
  void Add(const FrameRow& row);

  /// What is wrong when all views have come, as a sentence for people; nothing where nothing is.
  std::optional<std::string> Text() const;

 private:
  const Acquisition& acquisition_;
  std::vector<int> known_;           // [v]: defects of the calibration
  std::vector<int> looks_, silent_;  // [v]
};

}  // namespace isocenter::recon
