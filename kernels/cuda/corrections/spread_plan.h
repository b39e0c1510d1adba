// What a team keeps in shared memory while it spreads blocks (spread_lines.cuh).
#pragma once

#include <algorithm>

#include "kernels/cuda/corrections/spread_tables.h"

namespace isocenter::cuda {

inline constexpr int kTeamThreads = 512;
/// Threads that share a run of outputs along columns: each takes a part of the line.
inline constexpr int kSplits = 4;

/// All tables, and behind them a stage: either lines along rows, of each group a line of
/// `value_bytes` per block, or lines along columns, of some Gaussians at once.
struct SpreadPlan {
  int stage_offset;     // floats before the stage
  int rows_at_once;     // of one part of a team
  int columns_at_once;  // of one part, each with all its runs
  int gaussians_at_once;
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
    const auto of_gaussian = [&] {
      return int64_t{shape.rows} * plan.columns_at_once * value_bytes;
    };
    while (of_gaussian() > stage && plan.columns_at_once > 1) --plan.columns_at_once;
    plan.gaussians_at_once = static_cast<int>(
        std::clamp<int64_t>(stage / of_gaussian(), 1, std::max(1, layout.gaussians)));
    plan.shared_bytes =
        tables + std::max(plan.rows_at_once * of_row, plan.gaussians_at_once * of_gaussian());
    return plan;
  }

  static constexpr int kRangeBytes = 8;  // of a group in a row: from where to where it is
};

}  // namespace isocenter::cuda
