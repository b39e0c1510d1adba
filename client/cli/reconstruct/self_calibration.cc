#include "client/cli/reconstruct/self_calibration.h"

#include <cstdio>

#include "client/cli/output/self_calibration_text.h"
#include "client/cli/reconstruct/search_device.h"
#include "kernels/backends.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {

absl::StatusOr<recon::SelfCalibration> SelfCalibrate(const recon::Acquisition& acquisition,
                                                     const ReconstructOptions& options,
                                                     const LocalFrames& frames,
                                                     ops::Device& device) {
  ISO_ASSIGN_OR_RETURN(const SearchDevice searches, SearchDevice::Choose(device, options));
  const recon::CalibrationSearch search = recon::DefaultCalibrationSearch(options.fdk);
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
