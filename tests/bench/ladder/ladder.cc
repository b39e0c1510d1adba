#include <algorithm>
#include <chrono>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "tests/all_methods.h"
#include "tests/bench/fanbeam/figures.h"
#include "tests/bench/ladder/bench.h"
#include "tests/bench/ladder/errors.h"
#include "tests/bench/ladder/filtered_scan.h"
#include "tests/bench/machine.h"
#include "tests/bench/summary.h"
#include "tests/opened_session.h"

namespace isocenter::bench {
namespace {

// A step of the ladder: what is on besides that of the step above, if it is one of the ladder's
// own.
struct Step {
  const char* name;
  const char* method;
  int views;  // of a launch
  bool page_locked;
  bool on_ladder;  // else a variant beside it
  // Of the slides, where they can be read; 256³.
  const char* published;
};

// The paper's order; what it left out at the end is measured on top.
constexpr Step kSteps[] = {
    {"naive, half the slices per thread", "ladder_naive", 1, false, true, "7.77 s, 15.66 ms"},
    {"blocks of 16x16x4", "ladder_blocks", 1, false, true, "-"},
    {"blocks of 32x8x4", "ladder_blocks_32x8x4", 1, false, false, "-"},
    {"blocks of 64x4x4", "ladder_blocks_64x4x4", 1, false, false, "-"},
    {"blocks of 8x8x16", "ladder_blocks_8x8x16", 1, false, false, "-"},
    {"texture", "ladder_texture", 1, false, true, "3.537 s, 7.13 ms"},
    {"constant memory", "ladder_constant", 1, false, true, "-"},
    {"2 projections per thread", "ladder_views_2", 2, false, false, "-"},
    {"3 projections per thread", "ladder_views_3", 3, false, false, "-"},
    {"4 projections per thread", "ladder_views_4", 4, false, true, "-"},
    {"5 projections per thread", "ladder_views_5", 5, false, false, "-"},
    {"6 projections per thread", "ladder_views_6", 6, false, false, "-"},
    {"7 projections per thread", "ladder_views_7", 7, false, false, "-"},
    {"8 projections per thread", "ladder_views_8", 8, false, false, "-"},
    {"prefetch", "ladder_prefetch", 4, false, true, "-"},
    {"page-locked result", "ladder_prefetch", 4, true, true, "2.713 s, 5.47 ms"},
    {"unrolled", "ladder_unrolled", 4, true, true, "-"},
    {"fast math", "ladder_fast_math", 4, true, false, "-"},
};

// Beside them: this project's, by its own names.
struct Ours {
  const char* name;
  ops::Precision precision;
};
constexpr Ours kOurs[] = {{"ours, exact", ops::Precision::kExact},
                          {"ours, fast", ops::Precision::kFast}};
constexpr int kOurViews = 32;

struct Measured {
  double total = 0, kernels = 0;  // seconds
  VolumeError error;
};

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// One size: the device with a volume, and what it should hold.
class Case {
 public:
  static absl::StatusOr<Case> Create(const LadderOptions& options, const FilteredScan& scan,
                                     int size) {
    Case result(options, scan);
    result.grid_ = BenchmarkCube(size);
    ISO_ASSIGN_OR_RETURN(result.session_,
                         OpenSession(AllMethods(), options.backend, {.threads = 0}));
    ISO_ASSIGN_OR_RETURN(result.volume_, result.session_->NewVolume(result.grid_));
    const int64_t bytes = result.grid_.voxels() * static_cast<int64_t>(sizeof(float));
    ISO_ASSIGN_OR_RETURN(result.locked_, result.session_.device->NewHostMemory(bytes));
    result.plain_.resize(static_cast<size_t>(result.grid_.voxels()));
    ISO_RETURN_IF_ERROR(result.MakeTruth());
    return result;
  }

  // Medians by total of the runs after one that is not counted.
  absl::StatusOr<Measured> Measure(const std::string& method, int views, bool page_locked) {
    const auto& table = AllMethods().backproject;
    ISO_ASSIGN_OR_RETURN(const auto factory, table.Find(options_->backend, method));
    ISO_ASSIGN_OR_RETURN(const auto backproject, factory(*session_));
    ISO_ASSIGN_OR_RETURN(const auto stack, session_->NewProjectionStack(
                                               {views, scan_->shape.middle, scan_->shape.fast},
                                               ops::StackUse::kProjections));
    std::vector<Measured> all;
    for (int i = 0; i <= options_->repeats; ++i) {
      ISO_ASSIGN_OR_RETURN(const Measured one, Run(*backproject, *stack, views, page_locked));
      if (i > 0) all.push_back(one);
    }
    std::ranges::sort(all, {}, &Measured::total);
    Measured median = all[all.size() / 2];
    median.error = ErrorOf(result(page_locked).span(), truth_, scan_->hu_per_attenuation);
    return median;
  }

 private:
  Case(const LadderOptions& options, const FilteredScan& scan) : options_(&options), scan_(&scan) {}

  HostView3<float> result(bool page_locked) {
    float* const to = page_locked ? reinterpret_cast<float*>(locked_->data()) : plain_.data();
    return {to, grid_.shape()};
  }

  // One step after the other: nothing overlaps.
  absl::StatusOr<Measured> Run(ops::Backproject& backproject, ops::ProjectionStack& stack,
                               int views, bool page_locked) {
    ISO_RETURN_IF_ERROR(volume_->Clear());
    ISO_RETURN_IF_ERROR(session_->Synchronize());
    Measured measured;
    const auto start = std::chrono::steady_clock::now();
    const int all = static_cast<int>(scan_->shape.slow);
    for (int first = 0; first < all; first += views) {
      const int count = std::min(views, all - first);
      ISO_RETURN_IF_ERROR(stack.Upload(0, scan_->view(first, count)));
      const auto kernels = std::chrono::steady_clock::now();
      ISO_RETURN_IF_ERROR(
          backproject.Run(std::span(scan_->matrices)
                              .subspan(static_cast<size_t>(first), static_cast<size_t>(count)),
                          stack, *volume_));
      ISO_RETURN_IF_ERROR(session_->Synchronize());
      measured.kernels += SecondsSince(kernels);
    }
    ISO_RETURN_IF_ERROR(volume_->Download(0, result(page_locked)));
    measured.total = SecondsSince(start);
    return measured;
  }

  // In float32 on the CPU, whose error against float64 conformance tests bound.
  absl::Status MakeTruth() {
    ISO_ASSIGN_OR_RETURN(const auto cpu, OpenSession(AllMethods(), "cpu", {.threads = 0}));
    ISO_ASSIGN_OR_RETURN(const auto factory, AllMethods().backproject.Find("cpu"));
    ISO_ASSIGN_OR_RETURN(const auto backproject, factory(*cpu));
    ISO_ASSIGN_OR_RETURN(const auto volume, cpu->NewVolume(grid_));
    ISO_ASSIGN_OR_RETURN(const auto stack, cpu->NewProjectionStack(
                                               {kOurViews, scan_->shape.middle, scan_->shape.fast},
                                               ops::StackUse::kProjections));
    const int all = static_cast<int>(scan_->shape.slow);
    for (int first = 0; first < all; first += kOurViews) {
      const int count = std::min(kOurViews, all - first);
      ISO_RETURN_IF_ERROR(stack->Upload(0, scan_->view(first, count)));
      ISO_RETURN_IF_ERROR(
          backproject->Run(std::span(scan_->matrices)
                               .subspan(static_cast<size_t>(first), static_cast<size_t>(count)),
                           *stack, *volume));
    }
    truth_.resize(static_cast<size_t>(grid_.voxels()));
    return volume->Download(0, {truth_.data(), grid_.shape()});
  }

  const LadderOptions* options_;
  const FilteredScan* scan_;
  VolumeGrid grid_;
  OpenedSession session_;
  std::unique_ptr<ops::VolumeBuffer> volume_;
  std::unique_ptr<ops::HostMemory> locked_;
  std::vector<float> plain_, truth_;
};

// The rows of one size, and the curve of the ladder's own steps.
class Rows {
 public:
  Rows(FigureTable& table, imaging::Curve& curve, int size, int views)
      : table_(table), curve_(curve), size_(size), views_(views) {}

  void Add(const std::string& name, const Measured& measured, bool on_ladder,
           const std::string& published) {
    if (first_ == 0) first_ = measured.total;
    const double updates = static_cast<double>(BenchmarkCube(size_).voxels()) * views_;
    table_.Add({absl::StrCat(size_, "^3"), name, absl::StrFormat("%.4f", measured.total),
                absl::StrFormat("%.4f", 1e3 * measured.total / views_),
                absl::StrFormat("%.4f", measured.kernels),
                absl::StrFormat("%.1f", updates / measured.kernels * 1e-9),
                absl::StrFormat("%.3g", measured.error.mean_square_hu),
                absl::StrFormat("%.2f", first_ / measured.total), published});
    if (on_ladder) curve_.points.push_back({++steps_, 1e3 * measured.total / views_});
  }

 private:
  FigureTable& table_;
  imaging::Curve& curve_;
  const int size_, views_;
  double first_ = 0, steps_ = 0;
};

absl::Status MeasureSize(const LadderOptions& options, const FilteredScan& scan, int size,
                         FigureTable& table, imaging::Curve& curve) {
  ISO_ASSIGN_OR_RETURN(Case measured, Case::Create(options, scan, size));
  Rows rows(table, curve, size, options.views);
  const auto& methods = AllMethods().backproject;
  for (const Step& step : kSteps) {
    if (!methods.Find(options.backend, step.method).ok()) continue;  // the backend has no steps
    ISO_ASSIGN_OR_RETURN(const Measured row,
                         measured.Measure(step.method, step.views, step.page_locked));
    rows.Add(step.name, row, step.on_ladder, size == 256 ? step.published : "-");
  }
  for (const Ours& ours : kOurs) {
    ISO_ASSIGN_OR_RETURN(const auto* entry, methods.FindEntry(options.backend, "", ours.precision));
    ISO_ASSIGN_OR_RETURN(const Measured row, measured.Measure(entry->method, kOurViews, true));
    rows.Add(absl::StrCat(ours.name, " (", entry->method, ")"), row, false, "-");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunLadder(const LadderOptions& options) {
  ISO_RETURN_IF_ERROR(MakeFigureDirectory(options.out));
  ISO_ASSIGN_OR_RETURN(const auto device, AllMethods().OpenDevice(options.backend, {.threads = 0}));
  ISO_ASSIGN_OR_RETURN(const FilteredScan scan, MakeFilteredScan(options.views, options.binning));
  std::printf("%s, commit %s\n", device->description().c_str(), Commit().c_str());
  std::printf(
      "%d projections of %dx%d from pageable memory, one step after the other; medians of %d "
      "runs\n",
      options.views, static_cast<int>(scan.shape.fast), static_cast<int>(scan.shape.middle),
      options.repeats);
  FigureTable table({"volume", "step", "total s", "ms per projection", "kernels s", "GUPS",
                     "error HU^2", "speed-up", "GTX 480"});
  std::vector<imaging::Curve> curves;
  for (const int size : options.sizes) {
    imaging::Curve& curve = curves.emplace_back();
    curve.name = absl::StrCat(size, " voxels");
    ISO_RETURN_IF_ERROR(MeasureSize(options, scan, size, table, curve));
  }
  table.Print(
      "Steps, each with those above it but for the variants; error: mean square against "
      "float32 on the CPU");
  ISO_RETURN_IF_ERROR(table.Write(options.out, "ladder"));
  return WriteCurves(options.out, "ladder",
                     {.title = "ms per projection, with transfers",
                      .x_label = "naive, blocks, texture, constant, 4 views, prefetch, locked, "
                                 "unrolled",
                      .logarithmic = true},
                     curves);
}

}  // namespace isocenter::bench
