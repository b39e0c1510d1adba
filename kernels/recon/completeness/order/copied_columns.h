// Columns that are copies of others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/frame_row.h"

namespace isocenter::recon {

/// Two columns never count the same photons: where one has the very values of another in all rows
/// and views that are looked at, whoever delivers the frames has filled it with the other. Told are
/// kLeastCopies and more that have the values of the column beside them, or as many side by side
/// that have those of columns up to kMostApart further on, as a block that was written twice.
/// Fewer are how firmware covers dead lines. What is symmetric and without noise has a mirror
/// image, which is no copy: its columns are in the other order. Columns that hardly change (air
/// without noise, a collimator) are not looked at. Not thread-safe.
class CopiedColumns {
 public:
  static constexpr int kMostViews = 64;  // that are looked at, from all over the scan
  static constexpr int kLeastViews = 20;
  static constexpr int kLeastCopies = 4;
  static constexpr int kMostApart = 32;

  /// `acquisition`: valid, and must outlive this.
  explicit CopiedColumns(const Acquisition& acquisition);

  /// Some rows of a view, the same of each, each view once, in any order.
  void Add(int view, std::span<const FrameRow> rows);

  /// What is wrong when all views have come, as a sentence for people; nothing where nothing is.
  std::optional<std::string> Text() const;

 private:
  /// All values of a column.
  struct Column {
    uint64_t hash = 0;
    double least = 0, most = 0;
  };
  template <class T>
  void AddRow(const FrameRow& row);
  /// Which columns have the values of the one that is so many before them, of those that change.
  std::vector<bool> SameAs(int apart) const;

  const Acquisition& acquisition_;
  const int step_;  // between views that are looked at
  int views_ = 0;
  std::vector<Column> columns_;
};

}  // namespace isocenter::recon
