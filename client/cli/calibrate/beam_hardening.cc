// isocenter calibrate beam-hardening: water's line integrals at one energy.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/cli/calibrate/commands.h"
#include "client/cli/calibrate/expected_water.h"
#include "client/cli/calibrate/pictures.h"
#include "client/cli/calibrate/set_file.h"
#include "client/cli/calibrate/sweep_source.h"
#include "kernels/base/status_macros.h"
#include "kernels/calibrate/lag_removal.h"
#include "kernels/calibrate/robust.h"
#include "kernels/calibrate/transmission.h"
#include "kernels/calibrate/water/hardness_fit.h"
#include "kernels/calibrate/water/water_fit.h"
#include "proto/wire/calibration.h"

namespace isocenter::cli {
namespace {

/// How far from 1 the dose of frames may be that a set takes for that of its flat frames.
constexpr double kMostUntoldDose = 0.05;

struct Options {
  std::vector<std::string> scans;
  std::vector<double> diameters_mm;
  bool by_column = false;
  IntoSet set;
};

absl::StatusOr<calibrate::CylinderScan> ReadScan(const std::string& path, double diameter_mm,
                                                 double most_error_percent, const OpenedSet& opened,
                                                 std::vector<double>& doses, std::FILE* file) {
  ISO_ASSIGN_OR_RETURN(SweepSource scan, SweepSource::Open("--scan", path));
  ISO_RETURN_IF_ERROR(CheckSweep(opened, scan));
  if (scan.frames() < calibrate::kLeastScanViews) {
    return absl::InvalidArgumentError(absl::StrCat("--scan: ", path, " has ", scan.frames(),
                                                   " frames; legal is ", calibrate::kLeastScanViews,
                                                   " at least"));
  }
  calibrate::CylinderScan cylinder;
  const int step = std::max(1, scan.frames() / calibrate::kUsedScanViews);
  const bool lags = !opened.calibration.lag.empty();
  calibrate::LagRemoval lag(opened.calibration.lag);
  ISO_RETURN_IF_ERROR(scan.Read(lags ? 1 : step, [&](int frame, std::span<const uint16_t> counts) {
    std::vector<float> normalized =
        calibrate::Normalized(counts, *opened.calibration.response, opened.calibration.defects);
    if (lags) lag.Run(normalized);
    if (frame % step != 0) return absl::OkStatus();
    const absl::StatusOr<std::vector<float>> transmission =
        calibrate::Transmission(std::move(normalized), scan.detector(), &doses.emplace_back());
    if (!transmission.ok()) return transmission.status();
    return calibrate::AddRays(*transmission, scan.trajectory()[frame], scan.detector(), frame,
                              cylinder.rays);
  }));
  ISO_ASSIGN_OR_RETURN(cylinder.cylinder,
                       calibrate::FitCylinder(cylinder.rays, diameter_mm, most_error_percent));
  const calibrate::Cylinder& found = cylinder.cylinder;
  std::fprintf(
      file,
      "%s: the cylinder's axis is at x %.2f mm, y %.2f mm; its diameter is seen as %.2f mm "
      "(noise: %.2f mm), given as %g mm\n",
      path.c_str(), found.x_mm, found.y_mm, found.seen_mm, found.seen_sigma_mm, found.diameter_mm);
  return cylinder;
}

/// The doses that the frames were divided by, of which the set's flat frames have 1. Errors:
/// FAILED_PRECONDITION (frames of another dose, which the set has nothing to read doses from).
absl::StatusOr<calibrate::Figures> JudgeDoses(std::vector<double> doses, int air_columns) {
  const auto [least, most] = std::ranges::minmax(doses);
  const double middle = calibrate::Median(std::move(doses));
  calibrate::Figures figures = {{"dose in the air beside the cylinder", middle, "of flat frames"},
                                {"range of the frames' doses", 100 * (most - least) / middle, "%"}};
  if (air_columns > 0 || std::abs(middle - 1) <= kMostUntoldDose) return figures;
  return calibrate::NotGoodEnough(
      figures[0], absl::StrCat(1 - kMostUntoldDose, " to ", 1 + kMostUntoldDose),
      "the set takes frames that do not tell their dose for frames of the flat frames' dose. Make "
      "flat frames with the dose of scans, or the set with `isocenter calibrate detector "
      "--air-columns N`, and each frame's dose is read from the air beside the object");
}

absl::Status Calibrate(const Options& options) {
  if (options.scans.size() != options.diameters_mm.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--diameter-mm is given for ", options.diameters_mm.size(), " of ",
                     options.scans.size(), " scans; legal is one for each --scan, in their order"));
  }
  ISO_RETURN_IF_ERROR(CheckInto(options.set, {options.scans.begin(), options.scans.end()}));
  ISO_ASSIGN_OR_RETURN(OpenedSet opened, OpenInto(options.set));
  std::vector<calibrate::CylinderScan> scans;
  std::vector<double> doses;
  for (size_t i = 0; i < options.scans.size(); ++i) {
    ISO_ASSIGN_OR_RETURN(scans.emplace_back(),
                         ReadScan(options.scans[i], options.diameters_mm[i],
                                  options.by_column ? calibrate::kMostDiameterErrorByColumnPercent
                                                    : calibrate::kMostDiameterErrorPercent,
                                  opened, doses, options.set.to.json.progress()));
  }
  ISO_ASSIGN_OR_RETURN(calibrate::Figures figures,
                       JudgeDoses(std::move(doses), opened.calibration.air.columns));
  ISO_ASSIGN_OR_RETURN(const calibrate::WaterFit fit,
                       options.by_column
                           ? calibrate::FitWaterByColumn(scans, opened.calibration.detector)
                           : calibrate::FitWater(scans, opened.set.tube_voltage_kv()));
  figures.insert(figures.begin(), fit.figures.begin(), fit.figures.end());
  std::vector<std::string> warnings =
      JudgeByTube(opened.set.tube_voltage_kv(), opened.calibration.mu_water_per_mm, figures);
  warnings.insert(warnings.begin(), fit.warnings.begin(), fit.warnings.end());
  *opened.set.mutable_water() =
      wire::ToProto(
          ops::Calibration{.water = fit.polynomial, .mu_water_per_mm = fit.mu_water_per_mm})
          .water();
  return WriteInto(std::move(opened.set),
                   {"beam hardening", std::move(figures), PictureOf(fit), std::move(warnings)},
                   options.set);
}

}  // namespace

void AddCalibrateBeamHardeningCommand(flags::Command calibrate) {
  auto options = std::make_shared<Options>();
  flags::Command command = calibrate.Subcommand(
      "beam-hardening", "Water polynomial, from scans of cylinders of water: adds to a set");
  command.Footer(
      "Examples:\n"
      "  isocenter calibrate beam-hardening --scan water --diameter-mm 200 --into room3.isocal\n"
      "  isocenter calibrate beam-hardening --scan thin --diameter-mm 100 --scan thick \\\n"
      "      --diameter-mm 300 --into room3.isocal\n"
      "A set is for one tube voltage; other voltages are other sets.");
  command
      .Add("--scan", options->scans,
           "acquisition of a cylinder of water with air beside it in each frame")
      .Required()
      .Type("PATH");
  command.Add("--diameter-mm", options->diameters_mm, "the water's, for each --scan")
      .Required()
      .Range(calibrate::kLeastDiameterMm, calibrate::kMostDiameterMm);
  command.AddSwitch(
      "--by-column", options->by_column,
      "each column's beam has its own hardness: behind a bow-tie; the cylinder stands a quarter of "
      "its diameter beside the axis, or there are a thin and a thick one");
  AddIntoFlags(command, options->set);
  command.Does([options] { return Calibrate(*options); });
}

}  // namespace isocenter::cli
