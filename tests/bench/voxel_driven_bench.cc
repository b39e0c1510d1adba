#include "tests/bench/voxel_driven_bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <numbers>

#include "absl/strings/str_join.h"
#include "kernels/base/status_macros.h"
#include "kernels/geometry/trajectory.h"
#include "tests/all_methods.h"
#include "tests/bench/machine.h"
#include "tests/bench/noise.h"
#include "tests/bench/summary.h"
#include "tests/bench/write_file.h"
#include "tests/opened_session.h"

namespace isocenter::bench {
namespace {

// The paper's scanner. A voxel is as large as a pixel seen at the axis.
constexpr Detector kDetector{.columns = 512, .rows = 512, .pitch_u_mm = 0.127, .pitch_v_mm = 0.127};
constexpr double kSourceToAxis = 800, kSourceToDetector = 1000;
constexpr double kVoxel = 0.127 * kSourceToAxis / kSourceToDetector;
constexpr int kVoxelsAcross = 512;

// What the paper says that vertical planes of threads save.
constexpr double kPublishedSaving = 20;  // percent

constexpr const char* kAxial = "du_axial";
constexpr const char* kVertical = "du_vertical";
constexpr const char* kInterchange = "du_interchange_45";

// View 0 looks along y, as in the paper.
absl::StatusOr<Trajectory> MakeCircle(int views) {
  return MakeCircularOrbit({.views = views,
                            .source_to_isocenter_mm = kSourceToAxis,
                            .source_to_detector_mm = kSourceToDetector,
                            .start_angle = std::numbers::pi / 2,
                            .arc = 2 * std::numbers::pi * (views - 1) / views},
                           kDetector);
}

template <class Work>
absl::StatusOr<double> Milliseconds(ops::Session& session, Work work) {
  const auto start = std::chrono::steady_clock::now();
  ISO_RETURN_IF_ERROR(work());
  ISO_RETURN_IF_ERROR(session.Synchronize());
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

// Of `repeats` runs after one that allocates.
template <class Work>
absl::StatusOr<Summary> Measure(ops::Session& session, int repeats, Work work) {
  std::vector<double> times;
  for (int i = 0; i <= repeats; ++i) {
    ISO_ASSIGN_OR_RETURN(const double ms, Milliseconds(session, work));
    if (i > 0) times.push_back(ms);
  }
  return Summarize(times);
}

double DegreesOf(int view, size_t views) { return 360.0 * view / static_cast<double>(views); }

// Whether the central ray is nearer to x than to y.
bool AlongX(double degrees) { return std::fmod(degrees + 45, 180) > 90; }

// The first and the last angle at which planes along the ray are faster interchanged, in either
// half of the circle: where the paper's two curves cross. Empty where they do not.
struct Crossings {
  std::vector<double> degrees;
  double total_ms = 0;  // with planes interchanged between them
};
Crossings FindCrossings(const std::vector<double>& kept, const std::vector<double>& interchanged) {
  const size_t views = kept.size();
  Crossings crossings;
  std::vector<bool> better(views);
  for (size_t i = 0; i < views; ++i) {
    better[i] = AlongX(DegreesOf(i, views)) && interchanged[i] < kept[i];
  }
  for (const double half : {0.0, 180.0}) {
    size_t first = views, last = 0;
    // One view alone is noise.
    for (size_t i = 0; i + 1 < views; ++i) {
      const double degrees = DegreesOf(i, views);
      if (degrees < half || degrees >= half + 180 || !better[i] || !better[i + 1]) continue;
      first = std::min(first, i);
      last = std::max(last, i + 1);
    }
    for (size_t i = 0; i < views; ++i) {
      const double degrees = DegreesOf(i, views);
      if (degrees < half || degrees >= half + 180) continue;
      crossings.total_ms += i >= first && i <= last ? interchanged[i] : kept[i];
    }
    if (first <= last) {
      crossings.degrees.push_back(DegreesOf(first, views));
      crossings.degrees.push_back(DegreesOf(last, views));
    }
  }
  return crossings;
}

// One volume and one model.
class Case {
 public:
  static absl::StatusOr<Case> Create(const VoxelDrivenOptions& options, ops::Session& session,
                                     int slices, ops::ProjectorModel model) {
    Case result(options, session, model);
    ISO_ASSIGN_OR_RETURN(result.matrices_, MakeCircle(options.views));
    const VolumeGrid grid =
        CenteredGrid(kVoxelsAcross, kVoxelsAcross, slices, {kVoxel, kVoxel, kVoxel});
    ISO_ASSIGN_OR_RETURN(result.volume_, session.NewVolume(grid));
    ISO_RETURN_IF_ERROR(result.volume_->Upload(0, {Noise(grid.voxels()).data(), grid.shape()}));
    ISO_ASSIGN_OR_RETURN(result.stack_, session.NewProjectionStack(
                                            {options.views, kDetector.rows, kDetector.columns},
                                            ops::StackUse::kProjections));
    ISO_ASSIGN_OR_RETURN(result.view_,
                         session.NewProjectionStack({1, kDetector.rows, kDetector.columns},
                                                    ops::StackUse::kProjections));
    return result;
  }

  absl::StatusOr<nlohmann::json> Run() {
    nlohmann::json report;
    std::map<std::string, double> totals;
    for (const auto& entry : methods_->forward.List()) {
      if (entry.backend != options_->backend) continue;
      ISO_ASSIGN_OR_RETURN(const auto method, entry.factory(*session_));
      ISO_ASSIGN_OR_RETURN(const Summary ms, Measure(*session_, options_->repeats, [&] {
                             return method->Run(matrices_, *volume_, *stack_);
                           }));
      totals[entry.method] = ms.median;
      report["forward_ms"][entry.method] = ToJson(ms);
    }
    const double axial = totals.contains(kAxial) ? totals.at(kAxial) : 0;
    for (const auto& [name, ms] : totals) Print(name, ms, axial);
    for (const auto& entry : methods_->back.List()) {
      if (entry.backend != options_->backend) continue;
      ISO_ASSIGN_OR_RETURN(const auto method, entry.factory(*session_));
      ISO_ASSIGN_OR_RETURN(const Summary ms, Measure(*session_, options_->repeats, [&] {
                             return method->Run(matrices_, *stack_, *volume_);
                           }));
      report["back_ms"][entry.method] = ToJson(ms);
      Print(entry.method + " back", ms.median, 0);
    }
    // What was projected back is in the volume now: values of another size, as many of them.
    if (totals.contains(kVertical) && totals.contains(kInterchange) && axial > 0) {
      ISO_RETURN_IF_ERROR(Calibrate(totals, report));
    }
    std::fflush(stdout);
    return report;
  }

 private:
  Case(const VoxelDrivenOptions& options, ops::Session& session, ops::ProjectorModel model)
      : options_(&options), session_(&session), methods_(&AllMethods().projectors.at(model)) {}

  void Print(const std::string& name, double ms, double axial) const {
    const double gups = static_cast<double>(volume_->grid().voxels()) * options_->views / ms / 1e6;
    std::printf("  %-22s %9.2f ms %8.1f GUPS", name.c_str(), ms, gups);
    if (axial > 0) std::printf("  %5.2fx axial", axial / ms);
    std::printf("\n");
  }

  // Each view alone, its least time.
  absl::StatusOr<std::vector<double>> ViewByView(const std::string& name) {
    ISO_ASSIGN_OR_RETURN(const auto factory, methods_->forward.Find(options_->backend, name));
    ISO_ASSIGN_OR_RETURN(const auto method, factory(*session_));
    std::vector<double> times;
    for (const ProjectionMatrix& matrix : matrices_) {
      ISO_ASSIGN_OR_RETURN(const Summary ms, Measure(*session_, options_->repeats, [&] {
                             return method->Run(std::span(&matrix, 1), *volume_, *view_);
                           }));
      times.push_back(ms.least);
    }
    return times;
  }

  // The paper's procedure: the curves of the times without interchange and with it at 45 degrees.
  absl::Status Calibrate(const std::map<std::string, double>& totals, nlohmann::json& report) {
    ISO_ASSIGN_OR_RETURN(const std::vector<double> kept, ViewByView(kVertical));
    ISO_ASSIGN_OR_RETURN(const std::vector<double> interchanged, ViewByView(kInterchange));
    const Crossings crossings = FindCrossings(kept, interchanged);
    const double axial = totals.at(kAxial);
    Print("du_calibrated", crossings.total_ms, axial);
    std::printf(
        "  critical angles by calibration: %s\n",
        crossings.degrees.empty() ? "none" : absl::StrJoin(crossings.degrees, ", ").c_str());
    const double saved = 100 * (1 - totals.at(kVertical) / axial);
    std::printf("  vertical planes save %.1f %% of axial ones (the paper: more than %g %%)\n",
                saved, kPublishedSaving);
    report["calibrated_ms"] = crossings.total_ms;
    report["critical_angles_deg"] = crossings.degrees;
    report["vertical_saves_percent"] = saved;
    report["view_ms"] = {{kVertical, kept}, {kInterchange, interchanged}};
    return absl::OkStatus();
  }

  const VoxelDrivenOptions* options_;
  ops::Session* session_;
  const ops::ProjectorMethods* methods_;
  Trajectory matrices_;
  std::unique_ptr<ops::VolumeBuffer> volume_;
  std::unique_ptr<ops::ProjectionStack> stack_, view_;
};

}  // namespace

absl::Status RunVoxelDriven(const VoxelDrivenOptions& options) {
  ISO_ASSIGN_OR_RETURN(const auto session,
                       OpenSession(AllMethods(), options.backend, {.threads = 0}));
  std::printf("%s, commit %s\n", session->device().description().c_str(), Commit().c_str());
  std::printf(
      "%d views of %dx%d pixels of %g mm over 360 degrees, source to axis %g mm, to detector %g "
      "mm, voxels of %.4f mm; medians of %d runs\n",
      options.views, kDetector.columns, kDetector.rows, kDetector.pitch_u_mm, kSourceToAxis,
      kSourceToDetector, kVoxel, options.repeats);
  nlohmann::json report = {{"benchmark", "voxel_driven"},
                           {"device", session->device().description()},
                           {"commit", Commit()},
                           {"views", options.views},
                           {"repeats", options.repeats}};
  for (const int slices : options.slices) {
    for (const int subvoxels : options.subvoxels) {
      std::printf("%dx%dx%d voxels, %d subvoxel%s\n", kVoxelsAcross, kVoxelsAcross, slices,
                  subvoxels, subvoxels == 1 ? "" : "s");
      const auto model = subvoxels == 1 ? ops::ProjectorModel::kVoxelDriven
                                        : ops::ProjectorModel::kVoxelDrivenSplit;
      ISO_ASSIGN_OR_RETURN(Case measured, Case::Create(options, *session, slices, model));
      ISO_ASSIGN_OR_RETURN(nlohmann::json figures, measured.Run());
      figures["slices"] = slices;
      figures["subvoxels"] = subvoxels;
      report["cases"].push_back(std::move(figures));
    }
  }
  return options.json.empty() ? absl::OkStatus() : WriteFile(options.json, report.dump(2) + "\n");
}

}  // namespace isocenter::bench
