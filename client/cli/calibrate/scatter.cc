// isocenter calibrate scatter: kernels, from an object with and without its scatter, or of a
// constant fraction.
#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/cli/calibrate/commands.h"
#include "client/cli/calibrate/pictures.h"
#include "client/cli/calibrate/set_file.h"
#include "client/cli/calibrate/sweep_source.h"
#include "kernels/base/status_macros.h"
#include "kernels/calibrate/scatter/constant_fraction.h"
#include "kernels/calibrate/scatter/scatter_fit.h"
#include "kernels/calibrate/transmission.h"
#include "proto/wire/calibration.h"

namespace isocenter::cli {
namespace {

constexpr int kUsedViews = 6;  // more take longer and tell little else

struct Options {
  std::vector<std::string> with, without;
  double fraction = 0;  // 0: kernels are fitted
  double reach_mm = 100;
  IntoSet set;
};

/// Views of one pair of acquisitions.
class PairReader {
 public:
  PairReader(const OpenedSet& opened, std::vector<calibrate::ScatterView>& views)
      : opened_(opened), views_(views) {}

  absl::Status Read(const std::string& with_path, const std::string& without_path, int most_views) {
    ISO_ASSIGN_OR_RETURN(SweepSource with, SweepSource::Open("--with", with_path));
    ISO_ASSIGN_OR_RETURN(SweepSource without, SweepSource::Open("--without", without_path));
    ISO_RETURN_IF_ERROR(CheckSweep(opened_, with));
    ISO_RETURN_IF_ERROR(CheckSweep(opened_, without));
    if (with.frames() != without.frames()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--with has ", with.frames(), " frames and --without ", without.frames(),
                       "; legal are pairs of one object from the same directions"));
    }
    const int step = (with.frames() + most_views - 1) / most_views;
    const size_t first = views_.size();
    std::vector<double> doses;
    ISO_RETURN_IF_ERROR(without.Read(
        step, [&](int, std::span<const uint16_t> counts) { return AddPrimary(counts, doses); }));
    return with.Read(step, [&](int frame, std::span<const uint16_t> counts) {
      AddScatter(counts, doses[frame / step], views_[first + frame / step]);
      return absl::OkStatus();
    });
  }

 private:
  const ops::PixelResponse& response() const { return *opened_.calibration.response; }

  /// Where the dose is read, nothing is scattered.
  absl::Status AddPrimary(std::span<const uint16_t> counts, std::vector<double>& doses) {
    double dose = 0;
    ISO_ASSIGN_OR_RETURN(const std::vector<float> frame,
                         calibrate::Transmission(counts, response(), opened_.calibration.defects,
                                                 opened_.calibration.detector, &dose));
    views_.push_back({.primary = calibrate::BlockMeans(frame, opened_.calibration.detector)});
    doses.push_back(dose);
    return absl::OkStatus();
  }

  void AddScatter(std::span<const uint16_t> counts, double dose, calibrate::ScatterView& view) {
    std::vector<float> frame =
        calibrate::Normalized(counts, response(), opened_.calibration.defects);
    view.scatter = calibrate::BlockMeans(frame, opened_.calibration.detector);
    for (size_t b = 0; b < view.scatter.size(); ++b) {
      view.scatter[b] = view.scatter[b] / dose - view.primary[b];
    }
  }

  const OpenedSet& opened_;
  std::vector<calibrate::ScatterView>& views_;
};

absl::Status Write(OpenedSet opened, const ops::ScatterKernels& kernels, const Report& report,
                   const IntoSet& set) {
  *opened.set.mutable_scatter() = wire::ToProto(ops::Calibration{.scatter = kernels}).scatter();
  return WriteInto(std::move(opened.set), report, set);
}

absl::Status FitKernels(const Options& options, OpenedSet opened) {
  const int pairs = static_cast<int>(options.with.size());
  if (pairs > calibrate::kMostScatterViews) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--with is given ", pairs, " times; legal is 1 to ", calibrate::kMostScatterViews));
  }
  std::vector<calibrate::ScatterView> views;
  PairReader reader(opened, views);
  for (int i = 0; i < pairs; ++i) {
    ISO_RETURN_IF_ERROR(
        reader.Read(options.with[i], options.without[i], std::max(1, kUsedViews / pairs)));
  }
  const calibrate::CoarseShape shape(opened.calibration.detector);
  ISO_ASSIGN_OR_RETURN(const calibrate::ScatterFit fit,
                       calibrate::FitScatter(views, shape, opened.calibration.mu_water_per_mm));
  return Write(std::move(opened), fit.kernels,
               {"scatter", fit.figures, PictureOf(fit, views[0], shape), fit.warnings},
               options.set);
}

absl::Status StateFraction(const Options& options, OpenedSet opened) {
  ISO_ASSIGN_OR_RETURN(const ops::ScatterKernels kernels,
                       calibrate::ConstantFraction(options.fraction, options.reach_mm,
                                                   opened.calibration.mu_water_per_mm));
  const calibrate::Figures figures = {
      {"of the primary, as stated, not measured", 100 * options.fraction, "%"},
      {"reach", options.reach_mm, "mm"}};
  return Write(std::move(opened), kernels,
               {"scatter", figures, PictureOfFraction(options.fraction)}, options.set);
}

absl::Status Calibrate(const Options& options) {
  if (options.with.size() != options.without.size()) {
    return absl::InvalidArgumentError(absl::StrCat("--with is given ", options.with.size(),
                                                   " times and --without ", options.without.size(),
                                                   "; legal are pairs, in one order"));
  }
  if (options.with.empty() == (options.fraction == 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--with is given ", options.with.size(), " times and --fraction ",
                     options.fraction > 0 ? "as well" : "not at all", "; legal is either"));
  }
  std::vector<std::filesystem::path> inputs(options.with.begin(), options.with.end());
  inputs.insert(inputs.end(), options.without.begin(), options.without.end());
  ISO_RETURN_IF_ERROR(CheckInto(options.set, std::move(inputs)));
  ISO_ASSIGN_OR_RETURN(OpenedSet opened, OpenInto(options.set));
  if (opened.calibration.mu_water_per_mm == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the set ", opened.set.name(),
                     " does not know water's attenuation; legal is one that `isocenter calibrate "
                     "beam-hardening` was run on"));
  }
  return options.fraction > 0 ? StateFraction(options, std::move(opened))
                              : FitKernels(options, std::move(opened));
}

}  // namespace

void AddCalibrateScatterCommand(flags::Command calibrate) {
  auto options = std::make_shared<Options>();
  flags::Command command = calibrate.Subcommand(
      "scatter", "Scatter kernels, from an object with and without its scatter: adds to a set");
  command.Footer(
      "Example:\n"
      "  isocenter calibrate scatter --with thick --without thick_primary --with thin \\\n"
      "      --without thin_primary --into room3.isocal\n"
      "The primary alone comes from a simulation, from slits, or from between beam stops.\n"
      "Where there is none of them, scatter may be stated as a constant fraction of the primary:\n"
      "  isocenter calibrate scatter --fraction 0.4 --into room3.isocal\n"
      "A small stop of lead behind the middle of a patient tells how much that is.");
  command.Add("--with", options->with, "acquisition of an object with its scatter").Type("PATH");
  command
      .Add("--without", options->without,
           "the same frames of the primary alone, for each --with; with air beside the object")
      .Type("PATH");
  command
      .Add("--fraction", options->fraction,
           "in place of acquisitions: scatter behind the object, of the primary")
      .Range(calibrate::kLeastScatterFraction, calibrate::kMostScatterFraction);
  command
      .Add("--reach-mm", options->reach_mm,
           "of --fraction: standard deviation on the detector of what the primary is averaged over")
      .ShowDefault()
      .Range(calibrate::kLeastReachMm, calibrate::kMostReachMm);
  AddIntoFlags(command, options->set);
  command.Does([options] { return Calibrate(*options); });
}

}  // namespace isocenter::cli
