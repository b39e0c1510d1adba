#include "tests/bench/voxel_driven_bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "kernels/base/status_macros.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/phantom/phantom.h"
#include "tests/all_methods.h"
#include "tests/bench/fanbeam/figures.h"
#include "tests/bench/machine.h"
#include "tests/bench/summary.h"
#include "tests/bench/voxeldriven/collisions.h"
#include "tests/bench/write_file.h"
#include "tests/opened_session.h"

namespace isocenter::bench {
namespace {

// The paper's scanner. A voxel is as large as a pixel seen at the axis.
constexpr Detector kDetector{.columns = 512, .rows = 512, .pitch_u_mm = 0.127, .pitch_v_mm = 0.127};
constexpr double kSourceToAxis = 800, kSourceToDetector = 1000;
constexpr int kVoxelsAcross = 512;

// What the paper says that vertical planes of threads save.
constexpr double kPublishedSaving = 20;  // percent

constexpr const char* kAxial = "du_axial";
constexpr const char* kVertical = "du_vertical";
constexpr const char* kInterchange = "du_interchange_45";
constexpr const char* kCritical = "du_critical";

// The paper's CPU: one thread, and so many views of it that a figure is there soon.
constexpr const char* kOneThread = "du_one_thread";
constexpr int kOneThreadViews = 2;

// Where the source and the axis are, and how large a voxel is then.
struct Scanner {
  double source_to_axis = kSourceToAxis;
  double voxel() const { return kDetector.pitch_u_mm * source_to_axis / kSourceToDetector; }
};

// View 0 looks along y, as in the paper.
absl::StatusOr<Trajectory> MakeCircle(const Scanner& scanner, int views) {
  return MakeCircularOrbit({.views = views,
                            .source_to_isocenter_mm = scanner.source_to_axis,
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

VolumeGrid GridOf(const Scanner& scanner, int slices) {
  const double mm = scanner.voxel();
  return CenteredGrid(kVoxelsAcross, kVoxelsAcross, slices, {mm, mm, mm});
}

// The paper's phantom, in HU: what zeros are skipped or not does not matter to any method.
absl::StatusOr<std::vector<float>> SheppLogan(const VolumeGrid& grid) {
  constexpr double kMuWater = 0.02;
  ISO_ASSIGN_OR_RETURN(
      const auto phantom,
      phantom::MakePhantom("shepp-logan", 0.5 * kVoxelsAcross * grid.spacing.x, kMuWater));
  std::vector<float> voxels(static_cast<size_t>(grid.voxels()));
  ThreadPool pool(UsableCores());
  phantom::Rasterize(*phantom, grid, kMuWater, 1, pool, {voxels.data(), grid.shape()});
  return voxels;
}

// One volume and one model.
class Case {
 public:
  static absl::StatusOr<Case> Create(const VoxelDrivenOptions& options, ops::Session& session,
                                     const Scanner& scanner, int slices,
                                     ops::ProjectorModel model) {
    Case result(options, session, model);
    ISO_ASSIGN_OR_RETURN(result.matrices_, MakeCircle(scanner, options.views));
    const VolumeGrid grid = GridOf(scanner, slices);
    ISO_ASSIGN_OR_RETURN(result.volume_, session.NewVolume(grid));
    ISO_ASSIGN_OR_RETURN(result.voxels_, SheppLogan(grid));
    ISO_RETURN_IF_ERROR(result.volume_->Upload(0, {result.voxels_.data(), grid.shape()}));
    result.name_ = absl::StrCat("voxel_driven_", slices,
                                model == ops::ProjectorModel::kVoxelDriven ? "" : "_split", "_sad_",
                                scanner.source_to_axis);
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
    ISO_ASSIGN_OR_RETURN(const double one_thread, OneThread());
    report["one_thread_ms"] = one_thread;
    const double axial = totals.contains(kAxial) ? totals.at(kAxial) : 0;
    for (const auto& [name, ms] : totals) Print(name, ms, axial, one_thread);
    Print("one thread of the CPU", one_thread, 0, one_thread);
    for (const auto& entry : methods_->back.List()) {
      if (entry.backend != options_->backend) continue;
      ISO_ASSIGN_OR_RETURN(const auto method, entry.factory(*session_));
      ISO_ASSIGN_OR_RETURN(const Summary ms, Measure(*session_, options_->repeats, [&] {
                             return method->Run(matrices_, *stack_, *volume_);
                           }));
      report["back_ms"][entry.method] = ToJson(ms);
      Print(entry.method + " back", ms.median, 0, 0);
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

  // The paper's CPU form, milliseconds for all views by some of them.
  absl::StatusOr<double> OneThread() {
    ISO_ASSIGN_OR_RETURN(const auto cpu, OpenSession(AllMethods(), "cpu", {.threads = 1}));
    ISO_ASSIGN_OR_RETURN(const auto factory, methods_->forward.Find("cpu", kOneThread));
    ISO_ASSIGN_OR_RETURN(const auto method, factory(*cpu));
    ISO_ASSIGN_OR_RETURN(const auto volume, cpu->NewVolume(volume_->grid()));
    ISO_RETURN_IF_ERROR(volume->Upload(0, {voxels_.data(), volume_->grid().shape()}));
    ISO_ASSIGN_OR_RETURN(const auto stack,
                         cpu->NewProjectionStack({1, kDetector.rows, kDetector.columns},
                                                 ops::StackUse::kProjections));
    double ms = 0;
    for (int i = 0; i < kOneThreadViews; ++i) {
      const auto& matrix = matrices_[matrices_.size() * static_cast<size_t>(i) / 3];
      ISO_ASSIGN_OR_RETURN(const double one, Milliseconds(*cpu, [&] {
                             return method->Run(std::span(&matrix, 1), *volume, *stack);
                           }));
      ms += one;
    }
    return ms / kOneThreadViews * options_->views;
  }

  void Print(const std::string& name, double ms, double axial, double one_thread) const {
    const double gups = static_cast<double>(volume_->grid().voxels()) * options_->views / ms / 1e6;
    std::printf("  %-22s %9.2f ms %8.1f GUPS", name.c_str(), ms, gups);
    if (axial > 0) std::printf("  %5.2fx axial", axial / ms);
    if (one_thread > 0) std::printf("  %7.1fx one thread of the CPU", one_thread / ms);
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
    ISO_RETURN_IF_ERROR(DrawViews(kept, interchanged));
    const Crossings crossings = FindCrossings(kept, interchanged);
    const double axial = totals.at(kAxial);
    Print("du_calibrated", crossings.total_ms, axial, 0);
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

  // The paper's figure 4: milliseconds of each view over its angle.
  absl::Status DrawViews(const std::vector<double>& kept, const std::vector<double>& interchanged) {
    if (options_->out.empty()) return absl::OkStatus();
    ISO_ASSIGN_OR_RETURN(const std::vector<double> axial, ViewByView(kAxial));
    ISO_ASSIGN_OR_RETURN(const std::vector<double> critical, ViewByView(kCritical));
    std::vector<imaging::Curve> curves;
    FigureTable table({"degrees", kAxial, kVertical, kInterchange, kCritical});
    for (const auto& [name, times] :
         {std::pair(kAxial, &axial), std::pair(kVertical, &kept),
          std::pair(kInterchange, &interchanged), std::pair(kCritical, &critical)}) {
      imaging::Curve& curve = curves.emplace_back();
      curve.name = name;
      for (size_t i = 0; i < times->size(); ++i) {
        curve.points.push_back({DegreesOf(static_cast<int>(i), times->size()), (*times)[i]});
      }
    }
    for (size_t i = 0; i < axial.size(); ++i) {
      table.Add({absl::StrCat(DegreesOf(static_cast<int>(i), axial.size())), absl::StrCat(axial[i]),
                 absl::StrCat(kept[i]), absl::StrCat(interchanged[i]), absl::StrCat(critical[i])});
    }
    ISO_RETURN_IF_ERROR(table.Write(options_->out, name_));
    return WriteCurves(options_->out, name_,
                       {.title = "ms per view", .x_label = "degrees", .logarithmic = true}, curves);
  }

  const VoxelDrivenOptions* options_;
  ops::Session* session_;
  const ops::ProjectorMethods* methods_;
  std::string name_;  // of files
  Trajectory matrices_;
  std::vector<float> voxels_;
  std::unique_ptr<ops::VolumeBuffer> volume_;
  std::unique_ptr<ops::ProjectionStack> stack_, view_;
};

// What the paper argues with: how often threads add to the same pixel. Geometry alone.
absl::Status CountAll(const VoxelDrivenOptions& options, const Scanner& scanner, int slices) {
  constexpr int kEvery = 4;  // blocks that are looked at, along each axis
  struct Plane {
    const char* name;
    ThreadPlane plane, beyond;
    double critical_deg;
  };
  constexpr Plane kPlanes[] = {{kAxial, ThreadPlane::kAxial, ThreadPlane::kAxial, 90},
                               {kVertical, ThreadPlane::kCoronal, ThreadPlane::kCoronal, 90},
                               {kInterchange, ThreadPlane::kCoronal, ThreadPlane::kSagittal, 45},
                               {kCritical, ThreadPlane::kCoronal, ThreadPlane::kSagittal, 80}};
  ISO_ASSIGN_OR_RETURN(const Trajectory matrices, MakeCircle(scanner, options.views));
  const VolumeGrid grid = GridOf(scanner, slices);
  FigureTable means({"threads", "share that waits", "apart, pixels"});
  FigureTable by_angle({"degrees", kAxial, kVertical, kInterchange, kCritical});
  std::vector<std::vector<std::string>> rows(matrices.size());
  std::vector<imaging::Curve> curves;
  for (const Plane& plane : kPlanes) {
    imaging::Curve& curve = curves.emplace_back();
    curve.name = plane.name;
    double share = 0, apart = 0;
    for (size_t i = 0; i < matrices.size(); ++i) {
      const double degrees = DegreesOf(static_cast<int>(i), matrices.size());
      const double from_y = std::abs(std::remainder(degrees, 180));
      const Collisions count =
          CountCollisions(matrices[i], grid, kDetector,
                          from_y > plane.critical_deg ? plane.beyond : plane.plane, kEvery);
      share += count.share / static_cast<double>(matrices.size());
      apart += count.apart / static_cast<double>(matrices.size());
      curve.points.push_back({degrees, count.share});
      if (rows[i].empty()) rows[i].push_back(absl::StrCat(degrees));
      rows[i].push_back(absl::StrFormat("%.4f", count.share));
    }
    means.Add({plane.name, absl::StrFormat("%.3f", share), absl::StrFormat("%.3f", apart)});
  }
  means.Print("Threads of a block (32x8) that add to a pixel after another one of them");
  for (auto& row : rows) by_angle.Add(std::move(row));
  const std::string name = absl::StrCat("collisions_", slices, "_sad_", scanner.source_to_axis);
  ISO_RETURN_IF_ERROR(by_angle.Write(options.out, name));
  return WriteCurves(options.out, name, {.title = "share that waits", .x_label = "degrees"},
                     curves);
}

absl::Status RunScanner(const VoxelDrivenOptions& options, ops::Session& session,
                        const Scanner& scanner, nlohmann::json& report) {
  std::printf("source to axis %g mm, to detector %g mm, voxels of %.4f mm\n",
              scanner.source_to_axis, kSourceToDetector, scanner.voxel());
  for (const int slices : options.slices) {
    ISO_RETURN_IF_ERROR(CountAll(options, scanner, slices));
    for (const int subvoxels : options.subvoxels) {
      std::printf("%dx%dx%d voxels, %d subvoxel%s\n", kVoxelsAcross, kVoxelsAcross, slices,
                  subvoxels, subvoxels == 1 ? "" : "s");
      const auto model = subvoxels == 1 ? ops::ProjectorModel::kVoxelDriven
                                        : ops::ProjectorModel::kVoxelDrivenSplit;
      ISO_ASSIGN_OR_RETURN(Case measured, Case::Create(options, session, scanner, slices, model));
      ISO_ASSIGN_OR_RETURN(nlohmann::json figures, measured.Run());
      figures["slices"] = slices;
      figures["subvoxels"] = subvoxels;
      figures["source_to_axis_mm"] = scanner.source_to_axis;
      report["cases"].push_back(std::move(figures));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunVoxelDriven(const VoxelDrivenOptions& options) {
  ISO_RETURN_IF_ERROR(MakeFigureDirectory(options.out));
  ISO_ASSIGN_OR_RETURN(const auto session,
                       OpenSession(AllMethods(), options.backend, {.threads = 0}));
  std::printf("%s, commit %s\n", session->device().description().c_str(), Commit().c_str());
  std::printf(
      "Shepp-Logan, %d views of %dx%d pixels of %g mm over 360 degrees; medians of %d runs\n",
      options.views, kDetector.columns, kDetector.rows, kDetector.pitch_u_mm, options.repeats);
  nlohmann::json report = {{"benchmark", "voxel_driven"},
                           {"device", session->device().description()},
                           {"commit", Commit()},
                           {"views", options.views},
                           {"repeats", options.repeats}};
  for (const double ratio : options.ratios) {
    ISO_RETURN_IF_ERROR(
        RunScanner(options, *session, {.source_to_axis = ratio * kSourceToDetector}, report));
  }
  return options.json.empty() ? absl::OkStatus() : WriteFile(options.json, report.dump(2) + "\n");
}

}  // namespace isocenter::bench
