#include "tests/bench/fdk_bench.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "kernels/backends.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/thread_pool.h"
#include "kernels/cpu/device/simd_target.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/recon/reconstructor.h"
#include "tests/bench/machine.h"
#include "tests/bench/noise.h"
#include "tests/bench/scan.h"
#include "tests/bench/summary.h"
#include "tests/bench/write_file.h"

namespace isocenter::bench {
namespace {

// The study that these kernels are to beat: a prototype on the same kind of machine (Zen 4,
// AVX-512, two threads), back-projection alone.
constexpr double kPrototypeFine = 4.15;   // up to one detector pixel per voxel
constexpr double kPrototypeCoarse = 2.1;  // about two

struct Case {
  int size;
  double voxel_mm;
  int binning;
  double pixels_per_voxel;  // at the isocentre
};

// Voxels of about two and about one detector pixel, the detector binned for small volumes.
std::vector<Case> CasesOf(int size) {
  const int binning = size <= 256 ? 2 : 1;
  const double magnified_pitch = kFullDetector.pitch_v_mm * binning / 1.6;
  std::vector<Case> cases;
  for (const double mm : {200.0 / size, 96.0 / size}) {
    cases.push_back({size, mm, binning, mm / magnified_pitch});
  }
  return cases;
}

struct Measured {
  std::vector<double> preprocess, filter, backproject, whole;  // seconds
};

absl::StatusOr<Measured> Measure(const recon::Acquisition& acquisition, const VolumeGrid& grid,
                                 int threads, int repeats, const std::vector<uint16_t>& frames) {
  ISO_ASSIGN_OR_RETURN(const auto device, Backends().OpenDevice("cpu", {.threads = threads}));
  ISO_ASSIGN_OR_RETURN(const recon::ReconstructionPlan plan,
                       recon::MakePlan(acquisition, grid, {}, *device));
  std::vector<float> volume(grid.voxels());
  const ops::RawFrames raw{
      .counts = {frames.data(),
                 {plan.views(), acquisition.detector.rows, acquisition.detector.columns}}};
  Measured measured;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    ISO_ASSIGN_OR_RETURN(
        const recon::StageSeconds seconds,
        recon::ReconstructAll(plan, Backends(), *device, raw, {volume.data(), grid.shape()}));
    const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - start;
    measured.preprocess.push_back(seconds.preprocess);
    measured.filter.push_back(seconds.filter);
    measured.backproject.push_back(seconds.backproject);
    measured.whole.push_back(whole.count());
  }
  return measured;
}

}  // namespace

absl::Status RunFdk(const FdkOptions& options) {
  std::vector<std::string> simd = options.simd;
  if (simd.empty()) {
    for (const std::string& name : cpu::SimdTargets()) {
      if (name == "AVX-512" || name == "AVX2") simd.push_back(name);
    }
    if (simd.empty()) simd.push_back(cpu::SimdTargetName());
  }
  nlohmann::json report = {
      {"benchmark", "fdk"},
      {"processor", Processor()},
      {"cores", UsableCores()},
      {"commit", Commit()},
      {"repeats", options.repeats},
      {"trajectory", options.trajectory.empty() ? "synthetic wobbling C-arm" : options.trajectory}};
  std::printf("%s, %d cores, commit %s, %d runs per case\n", Processor().c_str(), UsableCores(),
              Commit().c_str(), options.repeats);
  for (const int threads : options.threads) {
    const double bandwidth = CopyBandwidth(threads);
    report["copy_gb_per_second"][std::to_string(threads)] = bandwidth;
    std::printf("memory copy, %d threads: %.1f GB/s read and written\n", threads, bandwidth);
  }
  std::printf(
      "GUPS = voxels x views / s / 1e9: median (min-max). prototype: kernel of the study, 2 "
      "threads "
      "AVX-512.\n\n%-8s %5s %6s %7s  %-8s %3s  %-21s %-17s %-21s %6s %s\n",
      "volume", "mm", "px/vox", "views", "SIMD", "thr", "back-projection GUPS",
      "filter+prep ms/view", "whole FDK GUPS", "whole%", "prototype");

  for (const int size : options.sizes) {
    const int views = options.views > 0 ? options.views : (size <= 256 ? 128 : 64);
    ISO_ASSIGN_OR_RETURN(const Trajectory full, MakeTrajectory(options.trajectory, views));
    for (const Case& test : CasesOf(size)) {
      const Detector detector{.columns = kFullDetector.columns / test.binning,
                              .rows = kFullDetector.rows / test.binning,
                              .pitch_u_mm = kFullDetector.pitch_u_mm * test.binning,
                              .pitch_v_mm = kFullDetector.pitch_v_mm * test.binning};
      const recon::Acquisition acquisition{
          .detector = detector, .trajectory = test.binning > 1 ? Binned(full, test.binning) : full};
      const VolumeGrid grid =
          CenteredGrid(size, size, size, {test.voxel_mm, test.voxel_mm, test.voxel_mm});
      std::vector<uint16_t> frames(int64_t{views} * detector.rows * detector.columns);
      FillWithCounts(frames);
      const double updates = static_cast<double>(grid.voxels()) * views;
      for (const std::string& target : simd) {
        if (!cpu::ForceSimdTarget(target)) {
          return absl::InvalidArgumentError(
              absl::StrCat("--simd is ", target, ", which this machine does not have"));
        }
        for (const int threads : options.threads) {
          ISO_ASSIGN_OR_RETURN(const Measured measured,
                               Measure(acquisition, grid, threads, options.repeats, frames));
          const Summary kernel = Gups(measured.backproject, updates);
          const Summary filter = Gups(measured.filter, updates);
          const Summary whole = Gups(measured.whole, updates);
          std::vector<double> before(measured.filter);
          for (size_t i = 0; i < before.size(); ++i) {
            before[i] = (before[i] + measured.preprocess[i]) / views * 1e3;
          }
          const Summary before_ms = Summarize(before);
          const double prototype = test.pixels_per_voxel < 1.5 ? kPrototypeFine : kPrototypeCoarse;
          std::printf(
              "%4d^3   %5.2f %6.2f %7d  %-8s %3d  %5.2f (%5.2f-%5.2f)   %6.2f (%5.2f)      "
              "%5.2f (%5.2f-%5.2f)   %5.0f%% %s\n",
              size, test.voxel_mm, test.pixels_per_voxel, views, target.c_str(), threads,
              kernel.median, kernel.least, kernel.most, before_ms.median, before_ms.least,
              whole.median, whole.least, whole.most, 100 * whole.median / kernel.median,
              threads == 2 && target == "AVX-512" ? absl::StrCat(prototype).c_str() : "");
          std::fflush(stdout);
          report["cases"].push_back({{"size", size},
                                     {"voxel_mm", test.voxel_mm},
                                     {"detector", {detector.columns, detector.rows}},
                                     {"pixels_per_voxel", test.pixels_per_voxel},
                                     {"views", views},
                                     {"simd", target},
                                     {"threads", threads},
                                     {"backproject_gups", ToJson(kernel)},
                                     {"filter_gups", ToJson(filter)},
                                     {"filter_and_preprocess_ms_per_view", ToJson(before_ms)},
                                     {"whole_gups", ToJson(whole)},
                                     {"prototype_gups_avx512_2_threads", prototype}});
        }
      }
    }
  }
  cpu::ForceSimdTarget("");
  if (options.json.empty()) return absl::OkStatus();
  return WriteFile(options.json, report.dump(2) + "\n");
}

}  // namespace isocenter::bench
