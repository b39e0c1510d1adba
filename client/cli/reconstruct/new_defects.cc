#include "client/cli/reconstruct/new_defects.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/calibrate/new_defects.h"

namespace isocenter::cli {

absl::StatusOr<recon::Acquisition> WithNewDefects(recon::Acquisition acquisition,
                                                  const ops::RawFrames& frames, int threads,
                                                  std::FILE* file) {
  if (!frames.counts) {
    return absl::InvalidArgumentError(
        "--find-defects with frames of line integrals; legal are counts");
  }
  const bool calibrated = acquisition.calibration != nullptr;
  ops::Calibration known =
      calibrated ? *acquisition.calibration
                 : ops::Calibration{.name = "of the frames", .detector = acquisition.detector};
  ThreadPool pool(threads);
  ISO_ASSIGN_OR_RETURN(const std::vector<int32_t> found,
                       calibrate::FindNewDefects(frames.counts, known, pool));
  std::fprintf(file, "%d new defective pixels", static_cast<int>(found.size()));
  if (!found.empty()) {
    const int columns = acquisition.detector.columns;
    std::fprintf(file, ", the first in column %d of row %d; they are interpolated%s",
                 found[0] % columns, found[0] / columns,
                 calibrated ? ", but the detector should be calibrated again" : "");
  }
  std::fprintf(file, "\n");
  if (found.empty()) return acquisition;
  std::vector<int32_t>& pixels = known.defects.pixels;
  pixels.insert(pixels.end(), found.begin(), found.end());
  std::sort(pixels.begin(), pixels.end());
  acquisition.calibration = std::make_shared<const ops::Calibration>(std::move(known));
  return acquisition;
}

}  // namespace isocenter::cli
