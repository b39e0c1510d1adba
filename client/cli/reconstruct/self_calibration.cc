#include "client/cli/reconstruct/self_calibration.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/reconstruct/search_device.h"
#include "client/formats/volume_input.h"
#include "kernels/backends.h"
#include "kernels/base/status_macros.h"
#include "kernels/recon/self_calibration/reference/reference_moves.h"

namespace isocenter::cli {

absl::StatusOr<std::unique_ptr<const recon::ReferenceVolume>> ReadReference(
    const recon::Acquisition& acquisition, PatientPosition position,
    const ReconstructOptions& options) {
  if (options.reference.empty()) return nullptr;
  ISO_ASSIGN_OR_RETURN(const formats::Volume volume, formats::ReadVolume(options.reference));
  absl::StatusOr<recon::ReferenceVolume> made =
      recon::MakeReference(WorldGrid(volume.grid, position), volume.view(),
                           options.fdk.mu_water_per_mm, recon::ReferenceVoxelMm(acquisition));
  if (!made.ok()) {
    return absl::Status(made.status().code(),
                        absl::StrCat(options.reference, ": ", made.status().message()));
  }
  return std::make_unique<const recon::ReferenceVolume>(*std::move(made));
}

absl::StatusOr<recon::SelfCalibration> SelfCalibrate(const recon::Acquisition& acquisition,
                                                     const recon::ReferenceVolume* reference,
                                                     const ReconstructOptions& options,
                                                     const LocalFrames& frames,
                                                     ops::Device& device) {
  ISO_ASSIGN_OR_RETURN(const SearchDevice searches, SearchDevice::Choose(device, options));
  recon::CalibrationSearch search = recon::DefaultCalibrationSearch(options.fdk);
  search.reference = reference;
  ISO_ASSIGN_OR_RETURN(const recon::CalibrationMemory memory,
                       recon::CalibrationMemoryOf(acquisition, search, Backends(), *searches));
  ISO_RETURN_IF_ERROR(searches.Begin("the search for the detector's place",
                                     "self-calibration: the detector is", memory.host_bytes,
                                     memory.device_bytes, options));
  ISO_ASSIGN_OR_RETURN(recon::SelfCalibration found,
                       recon::CalibrateFromFrames(acquisition, search, frames.view(),
                                                  frames.doses(), Backends(), *searches));
  std::fprintf(stderr, "isocenter: %s\n", recon::ToText(found).c_str());
  return found;
}

}  // namespace isocenter::cli
