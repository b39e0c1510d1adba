// isocenter calibrate detector: offsets, gains and defects.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/cli/calibrate/commands.h"
#include "client/cli/calibrate/pictures.h"
#include "client/cli/calibrate/set_file.h"
#include "client/cli/calibrate/sweep_source.h"
#include "kernels/base/status_macros.h"
#include "kernels/calibrate/detector_fit.h"
#include "proto/wire/calibration.h"
#include "proto/wire/geometry.h"
#include "proto/wire/header_numbers.h"

namespace isocenter::cli {
namespace {

struct Options {
  std::string dark, flat, station, mode, name, description;
  SetOutput output;
  std::optional<double> kv;  // unset: as the acquisitions say
  double full_scale_counts = 0;
  int valid_days = 0, air_columns = 0;
};

/// INVALID_ARGUMENT for what no tube has, such as a voltage in MV.
absl::Status CheckTubeVoltage(const std::string& what, double kv) {
  if (kv == 0 || (kv >= wire::kLeastTubeVoltage && kv <= wire::kMostTubeVoltage))
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " is ", kv, " kV; legal is ",
                                                 wire::kLeastTubeVoltage, " to ",
                                                 wire::kMostTubeVoltage, ", or 0 for any"));
}

/// All of a set but what is measured.
v1::CalibrationSet LabelOf(const Options& options, const Detector& detector, double kv) {
  const absl::Time now = absl::Now();
  v1::CalibrationSet label;
  label.set_name(options.name.empty()
                     ? absl::StrCat(options.station, "_", options.mode, "_",
                                    absl::FormatTime("%Y%m%dT%H%M%S", now, absl::UTCTimeZone()))
                     : options.name);
  label.set_station_name(options.station);
  label.set_detector_mode(options.mode);
  label.set_tube_voltage_kv(kv);
  label.set_description(options.description);
  *label.mutable_detector() = wire::ToProto(detector);
  wire::SetTime(now, *label.mutable_created());
  wire::SetTime(now, *label.mutable_valid_from());
  wire::SetTime(now + absl::Hours(24) * options.valid_days, *label.mutable_valid_until());
  return label;
}

absl::StatusOr<calibrate::DetectorFit> Fit(SweepSource& dark, SweepSource& flat) {
  const Detector& detector = dark.detector();
  if (!(flat.detector() == detector)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--flat has frames of ", flat.detector().columns, " x ", flat.detector().rows,
        " pixels; legal is --dark's detector, ", detector.columns, " x ", detector.rows));
  }
  ISO_RETURN_IF_ERROR(calibrate::CheckSweepFrames("--dark", dark.frames()));
  ISO_RETURN_IF_ERROR(calibrate::CheckSweepFrames("--flat", flat.frames()));
  const size_t pixels = size_t(detector.columns) * detector.rows;
  calibrate::SweepStatistics dark_frames(pixels, dark.frames());
  std::vector<float> values(pixels);
  ISO_RETURN_IF_ERROR(dark.Read(1, [&](int, std::span<const uint16_t> counts) {
    std::copy(counts.begin(), counts.end(), values.begin());
    dark_frames.Add(values);
    return absl::OkStatus();
  }));
  const std::vector<float> offsets = calibrate::OffsetMap(dark_frames);
  calibrate::FlatFrames flat_frames(offsets, flat.frames());
  ISO_RETURN_IF_ERROR(flat.Read(1, [&](int, std::span<const uint16_t> counts) {
    flat_frames.Add(counts);
    return absl::OkStatus();
  }));
  return calibrate::FitDetector(dark_frames, flat_frames, detector);
}

/// Air that counts as overexposed would be taken out of every scan.
absl::Status CheckFullScale(double full_scale_counts, const ops::PixelResponse& response) {
  if (full_scale_counts == 0) return absl::OkStatus();
  constexpr double kOverexposed = 0.05;  // of the pixels, as of flat frames that saturate
  std::vector<float> readings;
  for (size_t i = 0; i < response.air_counts.size(); ++i) {
    readings.push_back(response.offset_counts[i] + response.air_counts[i]);
  }
  const auto bright =
      readings.begin() +
      static_cast<int64_t>((1 - kOverexposed) * static_cast<double>(readings.size() - 1));
  std::ranges::nth_element(readings, bright);
  if (full_scale_counts > *bright) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "--full-scale is %g counts, and %g %% of the pixels read %.0f or more in the flat frames, "
      "which are not overexposed; legal is above that",
      full_scale_counts, 100 * kOverexposed, *bright));
}

absl::Status Calibrate(const Options& options) {
  ISO_RETURN_IF_ERROR(CheckOutputs(options.output, {options.dark, options.flat}));
  ISO_ASSIGN_OR_RETURN(SweepSource dark, SweepSource::Open("--dark", options.dark));
  ISO_ASSIGN_OR_RETURN(SweepSource flat, SweepSource::Open("--flat", options.flat));
  const double kv = options.kv.value_or(flat.header().tube_voltage_kv());
  ISO_RETURN_IF_ERROR(
      CheckTubeVoltage(options.kv ? "--kv" : absl::StrCat(flat.where(), ": the tube voltage"), kv));
  const v1::CalibrationSet label = LabelOf(options, dark.detector(), kv);
  ISO_RETURN_IF_ERROR(wire::CheckCalibrationLabel(label));
  if (const absl::Status legal =
          ops::CheckAirStrips({.columns = options.air_columns}, dark.detector());
      !legal.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--air-columns: ", legal.message()));
  }
  for (const SweepSource* sweep : {&dark, &flat}) {
    ISO_RETURN_IF_ERROR(CheckLabel(label, *sweep,
                                   options.kv
                                       ? "--station, --mode and --kv"
                                       : "--station, --mode and the tube voltage of --flat"));
  }
  ISO_ASSIGN_OR_RETURN(calibrate::DetectorFit fit, Fit(dark, flat));
  ISO_RETURN_IF_ERROR(CheckFullScale(options.full_scale_counts, fit.response));
  if (options.air_columns == 0) {
    std::fputs(
        "isocenter: comment: --air-columns is 0: a frame that does not tell its dose counts as one "
        "of exactly the flat frames' dose, and scans of 25 % less read 0.8 in air. Where scans "
        "have another dose, or an automatic one, give the columns at each side that always see the "
        "empty beam\n",
        stderr);
  }
  fit.response.full_scale_counts = options.full_scale_counts;
  const Report report{"detector", fit.figures, PictureOf(fit, dark.detector()), fit.warnings};
  v1::CalibrationSet set = wire::ToProto({.name = label.name(),
                                          .detector = dark.detector(),
                                          .response = std::move(fit.response),
                                          .defects = std::move(fit.defects.map),
                                          .air = {.columns = options.air_columns}});
  set.MergeFrom(label);
  return WriteSet(std::move(set), report, options.output);
}

}  // namespace

void AddCalibrateDetectorCommand(flags::Command calibrate) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  flags::Command command =
      calibrate.Subcommand("detector", "Offsets, gains and defects: begins a calibration set");
  command.Footer(
      "Example:\n"
      "  isocenter calibrate detector --dark dark --flat flat --station room3 --mode bin2 \\\n"
      "      --kv 90 --valid-days 30 --out room3.isocal --picture room3.png");
  command.Add("--dark", o.dark, "acquisition without X-rays, from a detector at rest")
      .Required()
      .Type("PATH");
  command.Add("--flat", o.flat, "acquisition of the empty beam").Required().Type("PATH");
  command.Add("--station", o.station, "station name, as in the acquisitions' headers")
      .Required()
      .Identifier();
  command.Add("--mode", o.mode, "binning, read-out and frame rate, in the station's words")
      .Required()
      .Identifier();
  command
      .Add("--kv", o.kv,
           "tube voltage that the set is for, 10 to 300; 0: any (default: what the acquisitions "
           "say, else any)")
      .Range(0.0, wire::kMostTubeVoltage);
  command.Add("--valid-days", o.valid_days, "how long the set is valid, from now")
      .Required()
      .Range(1, 3650);
  command
      .Add("--air-columns", o.air_columns,
           "columns at each side where frames that do not tell their dose see the empty beam, 16 "
           "to half of the detector's; 0: none, every frame has the flat frames' dose")
      .ShowDefault()
      .Range(0, 4096);
  command
      .Add("--full-scale", o.full_scale_counts,
           "least reading of an overexposed pixel: skin lines are recovered in frames that tell "
           "their dose; 0: not known")
      .ShowDefault()
      .Range(0.0, 65535.0);
  command.Add("--name", o.name, "of the set (default: station, mode and time)").Identifier();
  command.Add("--description", o.description, "who measured, and what with");
  command.Add("--out", o.output.out, "calibration set to write").Required().Type("FILE");
  AddReportFlags(command, o.output);
  command.Does([options] { return Calibrate(*options); });
}

}  // namespace isocenter::cli
