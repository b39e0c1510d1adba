#include "tests/bench/corrections_bench.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/base/status_macros.h"
#include "kernels/recon/stage_scope.h"
#include "tests/all_methods.h"
#include "tests/bench/machine.h"
#include "tests/bench/noise.h"
#include "tests/bench/scan.h"
#include "tests/bench/summary.h"
#include "tests/opened_session.h"

#ifdef ISOCENTER_HAS_CUDA
#include "tests/bench/cuda_ceilings.h"
#endif

namespace isocenter::bench {
namespace {

// As a detector has them: 0.1 % of defects and two lines, four terms of lag, three of glare, four
// groups of scatter. Speed depends on how far terms reach.
ops::Calibration SomeCalibration(const Detector& detector) {
  ops::Calibration calibration{.name = "bench", .detector = detector};
  const int pixels = detector.rows * detector.columns;
  calibration.response = {.offset_counts = std::vector<float>(pixels, 1000.f),
                          .air_counts = std::vector<float>(pixels, 50000.f)};
  for (int pixel = 0; pixel < pixels; ++pixel) {
    const int column = pixel % detector.columns;
    if (column == 300 || column == 900 || pixel % 997 == 500) {
      calibration.defects.pixels.push_back(pixel);
    }
  }
  calibration.lag = {{0.02, 0.7}, {0.015, 0.2}, {0.01, 0.05}, {0.005, 0.005}};
  calibration.glare = {{0.04, 3}, {0.03, 10}, {0.02, 40}};
  calibration.air.columns = 32;
  ops::ScatterKernels& scatter = calibration.scatter.emplace();
  scatter.mu_water_per_mm = 0.02;
  scatter.gamma_per_mm = 0.0005;
  for (const double from_mm : {0.0, 100.0, 180.0, 260.0}) {
    scatter.groups.push_back({.from_mm = from_mm,
                              .amplitude = 0.02,
                              .alpha = -0.1,
                              .beta = 1.2,
                              .narrow_sigma_mm = 40,
                              .wide_sigma_mm = 120,
                              .wide_share = 0.4});
  }
  calibration.water.coefficient = {1, 0.03, 0.001, 1e-5};
  return calibration;
}

struct Operations {
  std::unique_ptr<ops::NormalizeCounts> normalize;
  std::unique_ptr<ops::InterpolateDefects> defects;
  std::unique_ptr<ops::CorrectLag> lag;
  std::unique_ptr<ops::FindDoses> doses;
  std::unique_ptr<ops::CorrectGlare> glare;
  std::unique_ptr<ops::CorrectScatter> scatter;
  std::unique_ptr<ops::Linearize> linearize;

  static absl::StatusOr<Operations> Make(const ops::CorrectionMethods& table, ops::Session& session,
                                         const ops::Calibration& calibration) {
    Operations made;
    const auto make = [&](const auto& methods, auto& operation) -> absl::Status {
      ISO_ASSIGN_OR_RETURN(const auto factory, methods.Find(session.backend()));
      ISO_ASSIGN_OR_RETURN(operation, factory(session, calibration));
      return absl::OkStatus();
    };
    ISO_RETURN_IF_ERROR(make(table.normalize, made.normalize));
    ISO_RETURN_IF_ERROR(make(table.defects, made.defects));
    ISO_RETURN_IF_ERROR(make(table.lag, made.lag));
    ISO_RETURN_IF_ERROR(make(table.doses, made.doses));
    ISO_RETURN_IF_ERROR(make(table.glare, made.glare));
    ISO_RETURN_IF_ERROR(make(table.scatter, made.scatter));
    ISO_RETURN_IF_ERROR(make(table.linearize, made.linearize));
    return made;
  }
};

// What is measured: a run on the frames of a batch that have been normalized, and the bytes that it
// must move for each pixel.
struct Step {
  std::string name;
  double bytes_per_pixel;
  std::function<absl::Status()> run;
};

class Measurement {
 public:
  static absl::Status Run(const CorrectionsOptions& options) {
    ISO_ASSIGN_OR_RETURN(const OpenedSession opened,
                         OpenSession(AllMethods(), options.backend, {.threads = options.threads}));
    const Detector detector = kFullDetector;
    const Shape3 shape{options.batch, detector.rows, detector.columns};
    ISO_ASSIGN_OR_RETURN(const auto memory,
                         opened.device->NewHostMemory(shape.count() * int64_t{sizeof(uint16_t)}));
    auto* const counts = reinterpret_cast<uint16_t*>(memory->data());
    FillWithCounts({counts, static_cast<size_t>(shape.count())});
    Measurement self(options, *opened.session, {counts, shape});
    ISO_ASSIGN_OR_RETURN(
        self.operations_,
        Operations::Make(AllMethods().corrections, *opened.session, SomeCalibration(detector)));
    ISO_ASSIGN_OR_RETURN(self.frames_,
                         opened.session->NewProjectionStack(shape, ops::StackUse::kLineIntegrals));
    ISO_ASSIGN_OR_RETURN(self.doses_, opened.session->NewProjectionStack(
                                          {options.batch, 1, 1}, ops::StackUse::kLineIntegrals));
    std::printf("%s\n%d frames of %dx%d, %d at once\n", opened.device->description().c_str(),
                options.views, detector.columns, detector.rows, options.batch);
    return self.PrintAll();
  }

 private:
  Measurement(const CorrectionsOptions& options, ops::Session& session,
              StridedView3<const uint16_t> counts)
      : options_(options), session_(session), counts_(counts), told_(options.batch, 0.f) {}

  absl::Status PrintAll() {
    const int views = options_.batch;
    const Step defects{"defects", 0,
                       [=, this] { return operations_.defects->Run(views, *frames_); }};
    const Step lag{"lag, 4 terms", 8, [=, this] { return operations_.lag->Run(views, *frames_); }};
    const Step doses{"doses", 0,
                     [this] { return operations_.doses->Run(told_, *frames_, *doses_); }};
    const Step glare{"glare, 3 terms", 12,
                     [=, this] { return operations_.glare->Run(views, *frames_); }};
    const Step scatter{"scatter, 4 groups", 12,
                       [=, this] { return operations_.scatter->Run(views, *doses_, *frames_); }};
    const Step linearize{"logarithm, beam hardening", 8, [=, this] {
                           return operations_.linearize->Run(views, *doses_, *frames_);
                         }};
    const Step normalize{"offset, gain", 6, nullptr};
    ISO_RETURN_IF_ERROR(Print(normalize, {}));
    for (const Step& step : {defects, lag, doses, glare, scatter, linearize}) {
      ISO_RETURN_IF_ERROR(Print(step, {step}));
    }
    const auto chain = [](const char* name, const std::vector<Step>& steps) {
      Step all{name, 6, nullptr};
      for (const Step& step : steps) all.bytes_per_pixel += step.bytes_per_pixel;
      return all;
    };
    const std::vector<Step> most = {defects, lag, doses, glare, linearize};
    const std::vector<Step> every = {defects, lag, doses, glare, scatter, linearize};
    ISO_RETURN_IF_ERROR(Print(chain("all but scatter", most), most, /*with_normalize=*/true));
    return Print(chain("all", every), every, /*with_normalize=*/true);
  }

  // Of `steps`, with the first step where there are none, or where it belongs to them.
  absl::Status Print(const Step& what, const std::vector<Step>& steps,
                     bool with_normalize = false) {
    std::vector<double> seconds;
    for (int i = 0; i <= options_.repeats; ++i) {
      double sum = 0;
      for (int first = 0; first < options_.views; first += options_.batch) {
        ISO_ASSIGN_OR_RETURN(const double batch, Seconds(steps, steps.empty() || with_normalize));
        sum += batch;
      }
      if (i > 0) seconds.push_back(sum);  // the first one allocates
    }
    const Summary time = Summarize(seconds);
    const double bytes = what.bytes_per_pixel * static_cast<double>(options_.views) *
                         kFullDetector.columns * kFullDetector.rows;
    std::printf("%-26s %9.2f ms (%.2f-%.2f)", what.name.c_str(), 1e3 * time.median,
                1e3 * time.least, 1e3 * time.most);
    if (bytes > 0) std::printf("  %7.0f GB/s", 1e-9 * bytes / time.median);
    std::printf("\n");
    std::fflush(stdout);
    return absl::OkStatus();
  }

  // Of the kernels of one batch: uploads and what goes before are left out.
  absl::StatusOr<double> Seconds(const std::vector<Step>& steps, bool normalize) {
    ops::Timeline& timeline = session_.timeline();
    if (!normalize) ISO_RETURN_IF_ERROR(operations_.normalize->Run(counts_, *frames_));
    ISO_RETURN_IF_ERROR(session_.Synchronize());
    ISO_RETURN_IF_ERROR(timeline.Take().status());
    {
      const recon::StageScope scope(timeline, ops::Stage::kPreprocess);
      if (normalize) ISO_RETURN_IF_ERROR(operations_.normalize->Run(counts_, *frames_));
      for (const Step& step : steps) ISO_RETURN_IF_ERROR(step.run());
    }
    ISO_ASSIGN_OR_RETURN(const std::vector<ops::Span> spans, timeline.Take());
    double seconds = 0;
    for (const ops::Span& span : spans) {
      if (span.stage == ops::Stage::kPreprocess) seconds += span.end - span.begin;
    }
    return seconds;
  }

  const CorrectionsOptions& options_;
  ops::Session& session_;
  const StridedView3<const uint16_t> counts_;
  const std::vector<float> told_;
  Operations operations_;
  std::unique_ptr<ops::ProjectionStack> frames_, doses_;
};

}  // namespace

absl::Status RunCorrections(const CorrectionsOptions& options) {
#ifdef ISOCENTER_HAS_CUDA
  if (options.backend == "cuda") {
    ISO_ASSIGN_OR_RETURN(const CudaCeilings ceilings, MeasureCudaCeilings());
    std::printf("device copies read plus written %.0f GB/s\n", ceilings.device_copy_gb_s);
  }
#endif
  return Measurement::Run(options);
}

}  // namespace isocenter::bench
