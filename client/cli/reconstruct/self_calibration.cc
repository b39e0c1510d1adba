#include "client/cli/reconstruct/self_calibration.h"

#include <cstdio>
#include <memory>

#include "client/cli/output/self_calibration_text.h"
#include "kernels/backends.h"
#include "kernels/base/host_memory.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {

absl::StatusOr<recon::SelfCalibration> SelfCalibrate(const recon::Acquisition& acquisition,
                                                     const ReconstructOptions& options,
                                                     const LocalFrames& frames,
                                                     ops::Device& device) {
  ops::Device* searches = &device;
  std::unique_ptr<ops::Device> host;
  if (!Backends().matrix_gradient.Find(device.backend()).ok()) {
    ISO_ASSIGN_OR_RETURN(host, Backends().OpenDevice("cpu", {.threads = options.threads}));
    searches = host.get();
  }
  const recon::CalibrationSearch search = recon::DefaultCalibrationSearch(options.fdk);
  ISO_ASSIGN_OR_RETURN(const recon::CalibrationMemory memory,
                       recon::CalibrationMemoryOf(acquisition, search, Backends(), *searches));
  ISO_RETURN_IF_ERROR(CheckAvailableMemory(
      "the search for the detector's place",
      memory.host_bytes + (searches->traits().own_memory ? 0 : memory.device_bytes)));
  std::fprintf(options.json.progress(), "self-calibration: the detector is searched for on %s\n",
               searches->description().c_str());
  std::fflush(options.json.progress());
  ISO_ASSIGN_OR_RETURN(recon::SelfCalibration found,
                       recon::CalibrateFromFrames(acquisition, search, frames.view(),
                                                  frames.doses(), Backends(), *searches));
  std::fprintf(stderr, "isocenter: %s\n", SelfCalibrationSummary(found).c_str());
  return found;
}

}  // namespace isocenter::cli
