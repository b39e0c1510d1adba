// isocenter calibrate hu: from reconstructed to true Hounsfield units.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/calibrate/commands.h"
#include "client/cli/calibrate/pictures.h"
#include "client/cli/calibrate/set_file.h"
#include "client/cli/options/set_fit.h"
#include "client/cli/output/table.h"
#include "client/formats/dicom_series.h"
#include "client/formats/volume_input.h"
#include "kernels/base/regular_file.h"
#include "kernels/base/status_macros.h"
#include "kernels/calibrate/hounsfield_fit.h"
#include "kernels/ops/calibration_scope.h"
#include "proto/wire/calibration.h"

namespace isocenter::cli {
namespace {

constexpr uint64_t kMostTableBytes = 64 << 10;

struct Options {
  std::string volume, inserts;
  bool replace = false;
  IntoSet set;
};

/// A volume that was made with a table shows what that leaves, and no file says of its volume
/// whether it was: a table of those HU in place of the one that made them would throw it away.
absl::Status CheckNoTable(const OpenedSet& opened, bool replace) {
  if (opened.calibration.hounsfield.points.empty() || replace) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the set ", opened.set.name(),
      " has an HU table; legal is a set without one, as it was before its table was made, of which "
      "--volume was reconstructed, or --replace, which states that --volume was made without a "
      "table"));
}

/// What a volume does not tell of the set that its frames were corrected with. The service's own
/// say so in their comments.
std::string UntoldSet(const OpenedSet& opened, const std::string& volume,
                      const std::string& comments) {
  const std::string& name = opened.set.name();
  if (absl::StrContains(comments, absl::StrCat("calibration ", name, ","))) return "";
  return absl::StrCat(
      "--volume: ", volume, ": ",
      absl::StrContains(comments, "calibration ")
          ? "it was made with another calibration set than "
          : "it does not tell with which calibration set it was made; taken for granted is ",
      "'", name,
      "' without an HU table: a table made of another reconstruction's HU is wrong for this "
      "set's");
}

/// Of volumes DICOM's tell their X-rays and set, of files some. Returns what is to be warned of, or
/// nothing.
absl::StatusOr<std::string> CheckBeam(const OpenedSet& opened, const std::string& volume,
                                      const formats::VolumeFacts& facts) {
  v1::AcquisitionHeader header;
  *header.mutable_detector() = opened.set.detector();
  std::string comments;
  if (std::filesystem::is_directory(volume)) {
    ISO_ASSIGN_OR_RETURN(formats::SeriesBeam beam, formats::ReadSeriesBeam(volume));
    header.set_tube_voltage_kv(beam.tube_voltage_kv);
    constexpr size_t kMostDicomCharacters = 16;  // of a longer name there is the beginning
    if (opened.set.station_name().substr(0, kMostDicomCharacters) != beam.station_name) {
      header.set_station_name(beam.station_name);
    }
    comments = std::move(beam.comments);
  } else {
    header.set_tube_voltage_kv(facts.tube_voltage_kv);
    if (!facts.calibration.empty()) comments = absl::StrCat("calibration ", facts.calibration, ",");
  }
  const std::vector<std::string> misfits = FitOf(opened.set, header).misfits;
  if (misfits.empty()) return UntoldSet(opened, volume, comments);
  return absl::InvalidArgumentError(
      absl::StrCat("--volume: ", volume, ": ", ops::MisfitText(opened.set.name(), misfits),
                   "; legal is a volume of the set's own station and tube voltage"));
}

absl::Status Calibrate(const Options& options) {
  ISO_RETURN_IF_ERROR(CheckInto(options.set, {options.volume, options.inserts}));
  ISO_ASSIGN_OR_RETURN(OpenedSet opened, OpenInto(options.set));
  ISO_RETURN_IF_ERROR(CheckNoTable(opened, options.replace));
  ISO_ASSIGN_OR_RETURN(const std::string text,
                       ReadRegularFile("--inserts", options.inserts, kMostTableBytes));
  absl::StatusOr<std::vector<calibrate::Insert>> inserts = calibrate::ParseInserts(text);
  if (!inserts.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.inserts, ": ", inserts.status().message()));
  }
  ISO_ASSIGN_OR_RETURN(const formats::Volume volume, formats::ReadVolume(options.volume));
  ISO_ASSIGN_OR_RETURN(const std::string untold, CheckBeam(opened, options.volume, volume.facts));
  ISO_ASSIGN_OR_RETURN(const calibrate::HounsfieldFit fit,
                       calibrate::FitHounsfield(volume.view(), volume.grid, *std::move(inserts)));
  std::vector<TableRow> rows = {{"INSERT", "VOXELS", "MEAN HU", "SIGMA HU", "TRUE HU"}};
  for (const calibrate::MeasuredInsert& measured : fit.inserts) {
    rows.push_back({measured.insert.name, absl::StrCat(measured.voxels),
                    absl::StrFormat("%.1f", measured.mean_hu),
                    absl::StrFormat("%.1f", measured.sigma_hu),
                    absl::StrFormat("%.1f", measured.insert.true_hu)});
  }
  std::fputs(FormatTable(rows).c_str(), options.set.to.json.progress());
  ops::HounsfieldTable table = fit.table;
  table.made_with = ops::HounsfieldParts(opened.calibration);
  *opened.set.mutable_hounsfield() =
      wire::ToProto(ops::Calibration{.hounsfield = std::move(table)}).hounsfield();
  std::vector<std::string> warnings = fit.warnings;
  if (!untold.empty()) warnings.push_back(untold);
  if (opened.calibration.water.coefficient.empty()) {
    warnings.push_back(
        "the set has no water polynomial (`isocenter calibrate beam-hardening`), and the table is "
        "right for volumes alone that are made without one, as --volume must have been");
  } else {
    for (std::string& warning : calibrate::WaterOff(fit.inserts)) {
      warnings.push_back(std::move(warning));
    }
  }
  return WriteInto(std::move(opened.set), {"hu", fit.figures, PictureOf(fit), std::move(warnings)},
                   options.set);
}

}  // namespace

void AddCalibrateHounsfieldCommand(flags::Command calibrate) {
  auto options = std::make_shared<Options>();
  flags::Command command = calibrate.Subcommand(
      "hu", "Table of Hounsfield units, from a phantom with inserts: adds to a set");
  command.Footer(
      "Example:\n"
      "  isocenter calibrate hu --volume inserts.mha --inserts inserts.txt --into room3.isocal\n"
      "The table of inserts has a line for each: name, x, y, z and radius in mm, true HU.\n"
      "  # name   x    y   z  radius  HU\n"
      "  air     50    0   0  8       -1000\n"
      "  bone     0  -50   0  8       950\n"
      "Coordinates are the volume's; of DICOM, the patient's.");
  command
      .Add("--volume", options->volume,
           "reconstruction with the set's other parts and no table (.mha, .mhd, .nii, .nii.gz, "
           "DICOM directory)")
      .Required()
      .Type("VOLUME");
  command.Add("--inserts", options->inserts, "table of the inserts").Required().Type("FILE");
  command.AddSwitch("--replace", options->replace,
                    "replace the set's table: --volume was made without one");
  AddIntoFlags(command, options->set);
  command.Does([options] { return Calibrate(*options); });
}

}  // namespace isocenter::cli
