#include "tests/bench/search/bench.h"

#ifdef ISOCENTER_HAS_CUDA
#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "tests/bench/fanbeam/figures.h"
#include "tests/bench/machine.h"
#include "tests/bench/scan.h"
#include "tests/bench/search/kernels.h"
#include "tests/bench/summary.h"
#endif

namespace isocenter::bench {

#ifdef ISOCENTER_HAS_CUDA

namespace {

constexpr double kEdgeMm = 256;  // of the cube, as RabbitCT's

// What the paper found, its test 8.
bool IsThePapers(const SearchRow& row) {
  return row.views == 32 && row.depth == 4 && row.block_x == 16 && row.block_y == 32;
}

void AddRow(const SearchRow& row, size_t rank, double updates, FigureTable& table) {
  const Summary seconds = Summarize(row.seconds);
  table.Add({absl::StrCat(rank), absl::StrCat(row.views), absl::StrCat(row.depth),
             absl::StrCat(row.block_x), absl::StrCat(row.block_y), absl::StrCat(row.registers),
             absl::StrFormat("%.3f", row.occupancy), absl::StrFormat("%.2f", 1e3 * seconds.median),
             absl::StrFormat("%.2f-%.2f", 1e3 * seconds.least, 1e3 * seconds.most),
             absl::StrFormat("%.1f", updates / seconds.median * 1e-9)});
}

FigureTable NewTable() {
  return FigureTable(
      {"rank", "I", "K", "Bx", "By", "registers", "occupancy", "ms", "range", "GUPS"});
}

}  // namespace

absl::Status RunSearch(const SearchOptions& options) {
  ISO_RETURN_IF_ERROR(MakeFigureDirectory(options.out));
  ISO_ASSIGN_OR_RETURN(const Trajectory matrices,
                       MakeTrajectory(options.trajectory, options.views));
  const double mm = kEdgeMm / options.size;
  const VolumeGrid grid = CenteredGrid(options.size, options.size, options.size, {mm, mm, mm});
  ISO_ASSIGN_OR_RETURN(
      SearchTable found,
      MeasureSearch(matrices, {options.views, kFullDetector.rows, kFullDetector.columns}, grid,
                    options.repeats));
  std::ranges::sort(found.rows, {},
                    [](const SearchRow& row) { return Summarize(row.seconds).median; });
  const double updates = static_cast<double>(grid.voxels()) * options.views;
  FigureTable best = NewTable(), all = NewTable();
  for (size_t i = 0; i < found.rows.size(); ++i) {
    const SearchRow& row = found.rows[i];
    AddRow(row, i + 1, updates, all);
    if (i < static_cast<size_t>(options.best) || IsThePapers(row) || i + 1 == found.rows.size()) {
      AddRow(row, i + 1, updates, best);
    }
  }
  std::printf("%s, commit %s\n", found.device.c_str(), Commit().c_str());
  std::printf("%d views of %dx%d, %d^3 voxels; kernels only, medians of %d runs\n", options.views,
              kFullDetector.columns, kFullDetector.rows, options.size, options.repeats);
  best.Print(absl::StrCat("Kernel B, the best of ", found.rows.size(),
                          " configurations, the paper's (32, 4, 16, 32) and the last"));
  return all.Write(options.out, "search");
}

#else

absl::Status RunSearch(const SearchOptions&) {
  return absl::UnavailableError("this build has no CUDA backend");
}

#endif

}  // namespace isocenter::bench
