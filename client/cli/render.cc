// isocenter render: planes of a volume as a PNG.
#include <filesystem>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/flags/wrong_usage.h"
#include "client/formats/destination.h"
#include "client/formats/volume_input.h"
#include "client/imaging/contact_sheet.h"
#include "client/imaging/resample.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

constexpr double kMostHu = 1e6;

struct Options {
  std::string volume, before, truth, out;
  std::vector<double> window{40, 400};
  std::vector<double> difference_window{0, 100};
  std::vector<int> slice;
};

absl::StatusOr<imaging::Window> ToWindow(const char* flag, const std::vector<double>& values) {
  if (values[1] > 0) return imaging::Window{.center = values[0], .width = values[1]};
  return flags::WrongUsage(
      absl::StrCat(flag, ": the width is ", values[1], " HU; legal is above 0"));
}

absl::StatusOr<imaging::SliceIndex> ToSliceIndex(const Options& options, const VolumeGrid& grid) {
  if (options.slice.empty()) return imaging::MiddleSlices(grid);
  const imaging::SliceIndex at{options.slice[0], options.slice[1], options.slice[2]};
  if (at[0] < 0 || at[1] < 0 || at[2] < 0 || at[0] >= grid.nx || at[1] >= grid.ny ||
      at[2] >= grid.nz) {
    return absl::InvalidArgumentError(absl::StrCat("--slice is ", at[0], ",", at[1], ",", at[2],
                                                   "; legal is 0,0,0 to ", grid.nx - 1, ",",
                                                   grid.ny - 1, ",", grid.nz - 1));
  }
  return at;
}

// On `grid`, with voxels that the file does not have not finite.
absl::StatusOr<formats::Volume> ReadOn(const VolumeGrid& grid, const std::string& path) {
  ISO_ASSIGN_OR_RETURN(const formats::Volume given, formats::ReadVolume(path));
  return imaging::Resample(given, grid, std::numeric_limits<float>::quiet_NaN());
}

/// Of a path, also of a folder's.
std::string FileName(const std::string& path) {
  const std::filesystem::path given(path);
  return (given.has_filename() ? given : given.parent_path()).filename().string();
}

formats::Volume Difference(formats::Volume volume, const formats::Volume& truth) {
  for (size_t i = 0; i < volume.voxels.size(); ++i) volume.voxels[i] -= truth.voxels[i];
  return volume;
}

absl::Status Render(const Options& options) {
  ISO_RETURN_IF_ERROR(
      formats::CheckFileDestination({.flag = "--out", .path = options.out, .endings = {".png"}}));
  ISO_ASSIGN_OR_RETURN(const imaging::Window window, ToWindow("--window", options.window));
  ISO_ASSIGN_OR_RETURN(const imaging::Window difference_window,
                       ToWindow("--difference-window", options.difference_window));
  ISO_ASSIGN_OR_RETURN(const formats::Volume volume, formats::ReadVolume(options.volume));
  ISO_ASSIGN_OR_RETURN(const imaging::SliceIndex at, ToSliceIndex(options, volume.grid));
  formats::Volume before, truth, difference;
  std::vector<imaging::SheetRow> rows;
  if (!options.truth.empty()) {
    ISO_ASSIGN_OR_RETURN(truth, ReadOn(volume.grid, options.truth));
    rows.push_back({"truth", &truth, window, FileName(options.truth)});
  }
  if (!options.before.empty()) {
    ISO_ASSIGN_OR_RETURN(before, ReadOn(volume.grid, options.before));
    rows.push_back({"before", &before, window, FileName(options.before)});
  }
  rows.push_back({"reconstruction", &volume, window, FileName(options.volume)});
  if (!options.truth.empty()) {
    difference = Difference(volume, truth);
    rows.push_back({"difference", &difference, difference_window, "reconstruction less truth"});
  }
  return formats::WritePng(options.out, imaging::RenderSheet(rows, at));
}

}  // namespace

void AddRenderCommand(flags::Command program) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  flags::Command command =
      program.Subcommand("render", "Draw axial, coronal and sagittal planes as a PNG");
  command.Footer(
      "Examples:\n"
      "  isocenter render volume.mha --out planes.png --window 40,400\n"
      "  isocenter render volume.mha --truth truth.mha --out sheet.png --difference-window 0,100\n"
      "Rows: truth, before, reconstruction, difference to the truth, of what is given. Volumes on "
      "other grids are interpolated. Letters say which side of the patient is where: R and L, A "
      "and P, H and F.");
  command.Add("volume", o.volume, "volume in HU (.mha, .mhd, .nii, .nii.gz, DICOM directory)")
      .Required()
      .Type("VOLUME");
  command.Add("--out", o.out, "PNG to write").Required().Type("FILE");
  command.Add("--truth", o.truth, "volume to compare with").Type("FILE");
  command.Add("--before", o.before, "the same scan without what is to be shown, e.g. corrections")
      .Type("FILE");
  command.Add("--window", o.window, "centre and width in HU")
      .Type("C,W")
      .Separator(',')
      .Count(2)
      .Range(-kMostHu, kMostHu)
      .ShowDefault("40,400");
  command
      .Add("--difference-window", o.difference_window, "centre and width in HU of the difference")
      .Type("C,W")
      .Separator(',')
      .Count(2)
      .Range(-kMostHu, kMostHu)
      .ShowDefault("0,100");
  command.Add("--slice", o.slice, "voxel i,j,k that the planes go through (default: the middle)")
      .Type("I,J,K")
      .Separator(',')
      .Count(3)
      .Range(0, 4095);
  command.Does([options] { return Render(*options); });
}

}  // namespace isocenter::cli
