#include "client/cli/fan_beam.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/cli/output/job_text.h"
#include "client/formats/destination.h"
#include "client/formats/fan_beam_scan.h"
#include "client/formats/volume_writer.h"
#include "kernels/backends.h"
#include "kernels/base/host_memory.h"
#include "kernels/base/status_macros.h"
#include "proto/wire/geometry.h"

namespace isocenter::cli {
namespace {

absl::StatusOr<VolumeGrid> GridOf(const FanBeamCommand& command, const formats::FanBeamScan& scan) {
  const double spacing = scan.slice_spacing_mm();
  if (command.grid.empty()) {
    const double pixel = 2 * FanBeamFieldOfViewRadius(scan.geometry()) / command.size;
    return CenteredGrid(command.size, command.size, scan.slices(), {pixel, pixel, spacing});
  }
  if (command.grid[2] != scan.slices()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--grid has ", command.grid[2], " slices; the scan has ", scan.slices()));
  }
  return CenteredGrid(command.grid[0], command.grid[1], scan.slices(),
                      {command.voxel_mm, command.voxel_mm, spacing});
}

}  // namespace

absl::Status ReconstructFanBeamScan(const FanBeamCommand& command, ops::Device& device) {
  ISO_ASSIGN_OR_RETURN(formats::FanBeamScan scan, formats::FanBeamScan::Open(command.input));
  formats::Volume volume;
  ISO_ASSIGN_OR_RETURN(volume.grid, GridOf(command, scan));
  ISO_RETURN_IF_ERROR(ValidateGrid(volume.grid));
  const int64_t bytes = volume.grid.voxels() * static_cast<int64_t>(sizeof(float));
  ISO_RETURN_IF_ERROR(CheckAvailableMemory(
      absl::StrCat("a volume of ", volume.grid.nx, "x", volume.grid.ny, "x", volume.grid.nz),
      bytes));
  ISO_RETURN_IF_ERROR(formats::CheckFileDestination({.flag = "--out",
                                                     .path = command.out,
                                                     .endings = formats::VolumeEndings(),
                                                     .bytes = static_cast<uint64_t>(bytes)}));
  volume.voxels.resize(volume.grid.voxels());
  const absl::Time begin = absl::Now();
  ISO_RETURN_IF_ERROR(recon::ReconstructFanBeam(
      scan.geometry(), volume.grid, command.settings, Backends(), device,
      [&](int64_t first, HostView3<float> lines) { return scan.Read(first, lines); },
      {volume.voxels.data(), volume.grid.shape()}));
  const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  ISO_RETURN_IF_ERROR(formats::WriteVolume(command.out, volume));
  return command.json.Report(
      absl::StrFormat("%dx%dx%d voxels of %.4g mm from %d fan-beam views in %.2f s on %s\n",
                      volume.grid.nx, volume.grid.ny, volume.grid.nz, volume.grid.spacing.x,
                      scan.geometry().views, seconds, device.description()),
      {{"input", command.input},
       {"out", command.out},
       {"frames", scan.geometry().views},
       {"grid", ToJson(wire::ToProto(volume.grid))},
       {"algorithm", "fdk"},
       {"backend", std::string(device.backend())},
       {"device", device.description()},
       {"device_count", 1},
       {"seconds", seconds}});
}

}  // namespace isocenter::cli
