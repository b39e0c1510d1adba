// What a team keeps in shared memory while it spreads blocks (spread_lines.cuh).
#pragma once

#include <algorithm>

#include "kernels/cuda/corrections/spread_tables.h"

namespace isocenter::cuda {

inline constexpr int kTeamThreads = 512;
/// Threads that share a run of outputs along columns: each takes every so many-th Gaussian.
inline constexpr int kSplits = 4;

/// All tables, and behind them a stage: either lines along rows, of each group a line of
/// `value_bytes` per block, or lines along columns, of some Gaussians at once.
struct SpreadPlan {
  int stage_offset;       // floats before the stage
  int rows_at_once;       // of one part of a team
  int columns_at_once;    // of one part, each with all its runs
  int gaussians_at_once;  // a multiple of kSplits
  int gaussian_stride;    // values of one Gaussian's columns in the stage
  int64_t shared_bytes;

  /// `most_shared_bytes`: of one block of threads on the device.
  static SpreadPlan Of(const BlockShape& shape, const TableLayout& layout, int groups,
                       int value_bytes, int parts, int64_t most_shared_bytes) {
    // More than one block of threads should find room on a multiprocessor.
    constexpr int64_t kMostStageBytes = 48 << 10;
    SpreadPlan plan = {};
    plan.stage_offset = (layout.floats + 3) / 4 * 4;
    const int64_t tables = plan.stage_offset * int64_t{sizeof(float)};
    const int64_t stage = std::min(kMostStageBytes, most_shared_bytes - tables);
    const auto part_of = [parts](int count) { return (count + parts - 1) / parts; };
    const int64_t of_row = int64_t{groups} * (shape.columns * value_bytes + kRangeBytes);
    plan.rows_at_once =
        static_cast<int>(std::clamp<int64_t>(stage / of_row, 1, part_of(shape.rows)));
    plan.columns_at_once =
        std::max(1, std::min(part_of(shape.columns), kTeamThreads / kSplits / RunsOf(shape.rows)));
    const auto batch_bytes = [&] {
      plan.gaussian_stride = Stride(shape.rows * plan.columns_at_once, value_bytes);
      return int64_t{kSplits} * plan.gaussian_stride * value_bytes;
    };
    while (batch_bytes() > stage && plan.columns_at_once > 1) --plan.columns_at_once;
    const int batches = (layout.gaussians + kSplits - 1) / kSplits;
    const int at_once =
        static_cast<int>(std::clamp<int64_t>(stage / batch_bytes(), 1, std::max(1, batches)));
    plan.gaussians_at_once = at_once * kSplits;
    plan.shared_bytes = tables + std::max(plan.rows_at_once * of_row, at_once * batch_bytes());
    return plan;
  }

  static constexpr int kRangeBytes = 8;  // of a group in a row: from where to where it is

 private:
  // Not less than `values`, and such that kSplits Gaussians side by side are in different banks.
  static int Stride(int values, int value_bytes) {
    const int banks = 128 / value_bytes, shift = banks / kSplits;
    return (values - shift + banks - 1) / banks * banks + shift;
  }
};

}  // namespace isocenter::cuda
