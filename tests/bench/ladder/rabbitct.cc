#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/rabbitct/benchmark_run.h"
#include "tests/all_methods.h"
#include "tests/bench/fanbeam/figures.h"
#include "tests/bench/ladder/bench.h"
#include "tests/bench/ladder/errors.h"
#include "tests/bench/ladder/filtered_scan.h"
#include "tests/bench/machine.h"
#include "tests/bench/summary.h"

namespace isocenter::bench {
namespace {

using rabbitct::BenchmarkRun;
using rabbitct::Problem;

struct Clock {
  double calls = 0, finish = 0;  // seconds
};

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Problem ProblemOf(const RabbitCtOptions& options, const FilteredScan& scan, int size,
                  const std::string& backend, const std::string& method) {
  const VolumeGrid cube = BenchmarkCube(size);
  return {.voxels_per_edge = static_cast<unsigned>(size),
          .columns = static_cast<unsigned>(scan.shape.fast),
          .rows = static_cast<unsigned>(scan.shape.middle),
          .voxel_mm = cube.spacing.x,
          .first_voxel_mm = cube.origin.x,
          .backend = backend,
          .method = method,
          .images_at_once = static_cast<unsigned>(options.images_at_once),
          .methods = &AllMethods()};
}

// What the runner does: projections one by one, its clock on within the calls.
absl::StatusOr<Clock> RunModule(const Problem& problem, const FilteredScan& scan,
                                std::span<float> volume) {
  ISO_ASSIGN_OR_RETURN(const auto run, BenchmarkRun::Create(problem));
  Clock clock;
  for (size_t view = 0; view < scan.matrices.size(); ++view) {
    std::array<double, 12> columns;  // the format's order
    for (int i = 0; i < 12; ++i) columns[i % 4 * 3 + i / 4] = scan.matrices[view].m[i];
    const auto image = scan.view(static_cast<int64_t>(view), 1).span();
    const auto start = std::chrono::steady_clock::now();
    ISO_RETURN_IF_ERROR(run->Add(columns, image));
    clock.calls += SecondsSince(start);
  }
  const auto start = std::chrono::steady_clock::now();
  ISO_RETURN_IF_ERROR(run->Finish(volume));
  clock.finish = SecondsSince(start);
  return clock;
}

absl::StatusOr<std::vector<std::string>> MethodsOf(const RabbitCtOptions& options) {
  const auto& table = AllMethods().backproject;
  if (!options.methods.empty()) {
    for (const std::string& method : options.methods) {
      ISO_RETURN_IF_ERROR(table.Find(options.backend, method).status());
    }
    return options.methods;
  }
  std::vector<std::string> methods;
  for (const auto& entry : table.List()) {
    if (entry.backend == options.backend) methods.push_back(entry.method);
  }
  return methods;
}

struct Row {
  std::string method;
  Clock clock;
  VolumeError error;
};

absl::StatusOr<std::vector<Row>> MeasureSize(const RabbitCtOptions& options,
                                             const FilteredScan& scan, int size,
                                             const std::vector<std::string>& methods) {
  const auto voxels = static_cast<size_t>(BenchmarkCube(size).voxels());
  std::vector<float> truth(voxels), volume(voxels);
  ISO_RETURN_IF_ERROR(RunModule(ProblemOf(options, scan, size, "cpu", ""), scan, truth).status());
  std::vector<Row> rows;
  for (const std::string& method : methods) {
    const Problem problem = ProblemOf(options, scan, size, options.backend, method);
    std::vector<Clock> clocks;
    for (int i = 0; i <= options.repeats; ++i) {
      ISO_ASSIGN_OR_RETURN(const Clock clock, RunModule(problem, scan, volume));
      if (i > 0) clocks.push_back(clock);  // the first one loads kernels
    }
    std::ranges::sort(clocks, {}, &Clock::calls);
    rows.push_back(
        {method, clocks[clocks.size() / 2], ErrorOf(volume, truth, scan.hu_per_attenuation)});
  }
  return rows;
}

}  // namespace

absl::Status RunRabbitCt(const RabbitCtOptions& options) {
  ISO_RETURN_IF_ERROR(MakeFigureDirectory(options.out));
  ISO_ASSIGN_OR_RETURN(const auto device, AllMethods().OpenDevice(options.backend, {.threads = 0}));
  ISO_ASSIGN_OR_RETURN(const std::vector<std::string> methods, MethodsOf(options));
  ISO_ASSIGN_OR_RETURN(const FilteredScan scan, MakeFilteredScan(options.views, options.binning));
  std::printf("%s, commit %s\n", device->description().c_str(), Commit().c_str());
  std::printf("%d projections of %dx%d, %d at once; medians of %d runs\n", options.views,
              static_cast<int>(scan.shape.fast), static_cast<int>(scan.shape.middle),
              options.images_at_once, options.repeats);
  FigureTable table({"volume", "method", "runner's clock s", "finish s", "GUPS", "rmse HU",
                     "largest HU", "other integers"});
  for (const int size : options.sizes) {
    ISO_ASSIGN_OR_RETURN(const std::vector<Row> rows, MeasureSize(options, scan, size, methods));
    const double updates = static_cast<double>(BenchmarkCube(size).voxels()) * options.views;
    for (const Row& row : rows) {
      table.Add({absl::StrCat(size, "^3"), row.method, absl::StrFormat("%.4f", row.clock.calls),
                 absl::StrFormat("%.4f", row.clock.finish),
                 absl::StrFormat("%.1f", updates / row.clock.calls * 1e-9),
                 absl::StrFormat("%.2e", std::sqrt(row.error.mean_square_hu)),
                 absl::StrFormat("%.2e", row.error.largest_hu),
                 absl::StrFormat("%.2e", row.error.other_integers)});
    }
  }
  table.Print(
      "The runner's clock counts the calls, not what comes after the last (finish: the "
      "download). Errors against float32 on the CPU; paper: 0.99 s, 6.04 s, 0.021 HU");
  return table.Write(options.out, "rabbitct");
}

}  // namespace isocenter::bench
