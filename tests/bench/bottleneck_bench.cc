#include "tests/bench/bottleneck_bench.h"

#include "absl/status/status.h"

#ifdef ISOCENTER_HAS_CUDA
#include <cstdio>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "tests/bench/bottleneck_kernels.h"
#include "tests/bench/machine.h"
#include "tests/bench/scan.h"
#include "tests/bench/summary.h"
#include "tests/bench/write_file.h"
#endif

namespace isocenter::bench {

#ifdef ISOCENTER_HAS_CUDA

namespace {

constexpr double kEdgeMm = 256;  // of the cube, as RabbitCT's

// Bilinear samples of one float32 channel that a multiprocessor's texture units issue per clock.
constexpr double kSamplesPerClock = 4;

constexpr const char* kFormNames[kForms] = {"instructions", "instructions_memory",
                                            "instructions_memory_texture", "full"};
constexpr int kHit = 2, kFull = 3;  // the forms that sample

}  // namespace

absl::Status RunBottleneck(const BottleneckOptions& options) {
  ISO_ASSIGN_OR_RETURN(const Trajectory matrices,
                       MakeTrajectory(options.trajectory, options.views));
  const double mm = kEdgeMm / options.size;
  const VolumeGrid grid = CenteredGrid(options.size, options.size, options.size, {mm, mm, mm});
  ISO_ASSIGN_OR_RETURN(
      const BottleneckTable table,
      MeasureBottleneck(matrices, {options.views, kFullDetector.rows, kFullDetector.columns}, grid,
                        options.repeats));
  const double peak = table.multiprocessors * kSamplesPerClock * table.clock_ghz;
  const double updates = static_cast<double>(grid.voxels()) * options.views;
  std::printf("%s, commit %s\n", table.device.c_str(), Commit().c_str());
  std::printf("texture units: %d x %g samples per clock x %.3f GHz = %.0f GT/s\n",
              table.multiprocessors, kSamplesPerClock, table.clock_ghz, peak);
  std::printf(
      "%d views of %dx%d, %d^3 voxels, cube of %g mm; kernels only, ms, median of %d runs\n"
      "I instructions, M volume memory, T samples (all from the same pixels); last columns: share "
      "of the units' rate\n\n",
      options.views, kFullDetector.columns, kFullDetector.rows, options.size, kEdgeMm,
      options.repeats);
  std::printf("%4s %-6s %-4s %3s %4s %3s %3s %5s %5s %9s %9s %9s %9s %8s %7s %6s\n", "test",
              "kernel", "sync", "I", "K", "Bx", "By", "regs", "occ", "I|-|-", "I|M|-", "I|M|T",
              "full", "GUPS", "I|M|T%", "full%");
  nlohmann::json report = {
      {"benchmark", "bottleneck"},
      {"device", table.device},
      {"multiprocessors", table.multiprocessors},
      {"clock_ghz", table.clock_ghz},
      {"texture_peak_gt_per_second", peak},
      {"commit", Commit()},
      {"size", options.size},
      {"views", options.views},
      {"detector", {kFullDetector.columns, kFullDetector.rows}},
      {"repeats", options.repeats},
      {"trajectory", options.trajectory.empty() ? "synthetic wobbling C-arm" : options.trajectory}};
  int test = 0;
  for (const BottleneckRow& row : table.rows) {
    nlohmann::json entry = {{"test", ++test},
                            {"kernel", std::string(1, row.kernel)},
                            {"synchronized", row.synchronized},
                            {"views_per_launch", row.views},
                            {"voxels_per_thread", row.depth},
                            {"block", {row.block_x, row.block_y}},
                            {"registers", row.registers},
                            {"occupancy", row.occupancy}};
    double ms[kForms];
    for (int i = 0; i < kForms; ++i) {
      std::vector<double> milliseconds;
      for (const double seconds : row.seconds[i]) milliseconds.push_back(seconds * 1e3);
      const Summary summary = Summarize(milliseconds);
      ms[i] = summary.median;
      entry["ms"][kFormNames[i]] = ToJson(summary);
      entry["resident_blocks"][kFormNames[i]] = row.resident_blocks[i];
    }
    const Summary gups = Gups(row.seconds[kFull], updates);
    const double hit_share = Gups(row.seconds[kHit], updates).median / peak;
    entry["gups"] = ToJson(gups);
    entry["texture_share"] = {{kFormNames[kHit], hit_share},
                              {kFormNames[kFull], gups.median / peak}};
    report["tests"].push_back(entry);
    std::printf(
        "%4d %-6c %-4s %3d %4d %3d %3d %5d %5.3f %9.2f %9.2f %9.2f %9.2f %8.1f %7.1f %6.1f\n", test,
        row.kernel, row.synchronized ? "yes" : "no", row.views, row.depth, row.block_x, row.block_y,
        row.registers, row.occupancy, ms[0], ms[1], ms[kHit], ms[kFull], gups.median,
        100 * hit_share, 100 * gups.median / peak);
  }
  if (options.json.empty()) return absl::OkStatus();
  return WriteFile(options.json, report.dump(2) + "\n");
}

#else

absl::Status RunBottleneck(const BottleneckOptions&) {
  return absl::UnavailableError("this build has no CUDA backend");
}

#endif

}  // namespace isocenter::bench
