// Pixels that tell nothing in a scan though its calibration does not say so.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/frame_row.h"

namespace isocenter::recon {

/// What calibrate::FindNewDefects finds in whole frames, told by the rows that are looked at: with
/// a and b the middle two of a pixel's four neighbours in its row, relative to the empty beam, a
/// value is implausible beyond [a - m, b + m], m = max(4·(b - a), (a + b) / 20). What a pixel sees
/// moves: an edge or a wire makes it implausible in few frames, a pixel that is dead, stuck or of
/// another gain than the set's is so in most. Of a set of another detector many are.
///
/// Counts are relative to the empty beam of the calibration, if there is one; of line integrals, p,
/// exp(-p) is looked at. Known defects, and pixels beside them or at the rows' ends, are not looked
/// at. Not thread-safe.
class UnknownDefects {
 public:
  static constexpr int kLeastViews = 20;
  static constexpr int kMostViews = 128;  // that are looked at, from all over the scan
  static constexpr double kShare = 0.5;   // of them, in which a defective pixel is implausible
  static constexpr int kLeastPixels = 2;

  /// `acquisition`: valid, and must outlive this.
  explicit UnknownDefects(const Acquisition& acquisition);

  /// Some rows of a view, the same of each, each view once, in any order.
  void Add(int view, std::span<const FrameRow> rows);

  /// What is wrong when all views have come, as a sentence for people; nothing where nothing is.
  std::optional<std::string> Text() const;

 private:
  void Prepare(std::span<const FrameRow> rows);
  /// Row `index` of those that are looked at, into signal_.
  void ReadSignal(const FrameRow& row, size_t index);

  const Acquisition& acquisition_;
  int step_ = 0;  // between views that are looked at; 0: none is
  int views_ = 0;
  std::vector<int> rows_;               // of the detector
  std::vector<float> offset_, factor_;  // [row][u]: signal = (count - offset)·factor
  std::vector<uint8_t> judged_;         // [row][u]
  std::vector<float> signal_;           // [u], of one row
  std::vector<uint8_t> times_;          // [row][u]: views in which it was implausible
};

}  // namespace isocenter::recon
