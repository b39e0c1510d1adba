#include "client/cli/reconstruct/fan_beam.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/cli/output/warnings.h"
#include "client/cli/reconstruct/flag_checks.h"
#include "client/cli/reconstruct/report.h"
#include "client/formats/destination.h"
#include "client/formats/fan_beam_scan.h"
#include "client/formats/volume_writer.h"
#include "kernels/backends.h"
#include "kernels/base/host_memory.h"
#include "kernels/base/status_macros.h"
#include "kernels/recon/fan_beam.h"
#include "proto/wire/plausible.h"

namespace isocenter::cli {
namespace {

absl::StatusOr<VolumeGrid> GridOf(const ReconstructOptions& options,
                                  const formats::FanBeamScan& scan) {
  const double spacing = scan.slice_spacing_mm();
  if (options.acquisition.grid.empty()) {
    const double pixel = 2 * FanBeamFieldOfViewRadius(scan.geometry()) / options.size;
    return CenteredGrid(options.size, options.size, scan.slices(), {pixel, pixel, spacing});
  }
  if (options.acquisition.grid[2] != scan.slices()) {
    return absl::InvalidArgumentError(absl::StrCat("--grid has ", options.acquisition.grid[2],
                                                   " slices; the scan has ", scan.slices()));
  }
  return CenteredGrid(options.acquisition.grid[0], options.acquisition.grid[1], scan.slices(),
                      {options.acquisition.voxel_mm, options.acquisition.voxel_mm, spacing});
}

recon::FanBeamSettings SettingsOf(const ReconstructOptions& options) {
  return {.decrease = {options.fan_beam_decrease, options.fan_beam_decrease},
          .form = options.fan_beam_kernel == "exact" ? ops::FanBeamKernelForm::kExact
                                                     : ops::FanBeamKernelForm::kSampledRamp,
          .window = options.fdk.window,
          .cutoff = options.fdk.cutoff,
          .mu_water_per_mm = options.fdk.mu_water_per_mm,
          .backproject_method = options.fdk.backproject_method};
}

}  // namespace

absl::Status ReconstructFanBeamScan(const ReconstructOptions& options, ops::Device& device) {
  ISO_ASSIGN_OR_RETURN(formats::FanBeamScan scan,
                       formats::FanBeamScan::Open(options.acquisition.input));
  formats::Volume volume{.facts = {.unit = "HU"}};
  ISO_ASSIGN_OR_RETURN(volume.grid, GridOf(options, scan));
  ISO_RETURN_IF_ERROR(ValidateGrid(volume.grid));
  PrintWarnings(wire::ImplausibleGrid("--grid", volume.grid, {}, {}));
  const int64_t bytes = volume.grid.voxels() * static_cast<int64_t>(sizeof(float));
  ISO_RETURN_IF_ERROR(CheckAvailableMemory(
      absl::StrCat("a volume of ", volume.grid.nx, "x", volume.grid.ny, "x", volume.grid.nz),
      bytes));
  formats::Destination out = VolumeDestination(options);
  out.bytes = static_cast<uint64_t>(bytes);
  ISO_RETURN_IF_ERROR(formats::CheckFileDestination(out));
  volume.voxels.resize(volume.grid.voxels());
  const absl::Time begin = absl::Now();
  ISO_RETURN_IF_ERROR(recon::ReconstructFanBeam(
      scan.geometry(), volume.grid, SettingsOf(options), Backends(), device,
      [&](int64_t first, HostView3<float> lines) { return scan.Read(first, lines); },
      {volume.voxels.data(), volume.grid.shape()}));
  const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  ISO_RETURN_IF_ERROR(formats::WriteVolume(options.out, volume));
  nlohmann::ordered_json json =
      ReportOf(options, scan.geometry().views, volume.grid, {&device}, seconds);
  json["out"] = options.out;
  return options.json.Report(
      absl::StrFormat("%dx%dx%d voxels of %.4g mm from %d fan-beam views in %.2f s on %s\n",
                      volume.grid.nx, volume.grid.ny, volume.grid.nz, volume.grid.spacing.x,
                      scan.geometry().views, seconds, device.description()),
      json);
}

}  // namespace isocenter::cli
