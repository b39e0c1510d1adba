// isocenter calibrate hu: from reconstructed to true Hounsfield units.
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/calibrate/commands.h"
#include "client/cli/calibrate/pictures.h"
#include "client/cli/calibrate/set_file.h"
#include "client/cli/output/table.h"
#include "client/formats/volume_input.h"
#include "kernels/base/regular_file.h"
#include "kernels/base/status_macros.h"
#include "kernels/calibrate/hounsfield_fit.h"
#include "proto/wire/calibration.h"

namespace isocenter::cli {
namespace {

constexpr uint64_t kMostTableBytes = 64 << 10;

struct Options {
  std::string volume, inserts;
  IntoSet set;
};

absl::Status Calibrate(const Options& options) {
  ISO_RETURN_IF_ERROR(CheckInto(options.set, {options.volume, options.inserts}));
  ISO_ASSIGN_OR_RETURN(OpenedSet opened, ReadSet("--into", options.set.into));
  ISO_ASSIGN_OR_RETURN(const std::string text,
                       ReadRegularFile("--inserts", options.inserts, kMostTableBytes));
  absl::StatusOr<std::vector<calibrate::Insert>> inserts = calibrate::ParseInserts(text);
  if (!inserts.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.inserts, ": ", inserts.status().message()));
  }
  ISO_ASSIGN_OR_RETURN(const formats::Volume volume, formats::ReadVolume(options.volume));
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
  *opened.set.mutable_hounsfield() =
      wire::ToProto(ops::Calibration{.hounsfield = fit.table}).hounsfield();
  return WriteInto(std::move(opened.set), {"hu", fit.figures, PictureOf(fit)}, options.set);
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
  AddIntoFlags(command, options->set);
  command.Does([options] { return Calibrate(*options); });
}

}  // namespace isocenter::cli
