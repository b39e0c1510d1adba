// What the CUDA device of this machine can do at most, measured.
#pragma once

#include "absl/status/statusor.h"

namespace isocenter::bench {

struct CudaCeilings {
  double upload_gb_s = 0, download_gb_s = 0;                // page-locked, one at a time
  double upload_beside_gb_s = 0, download_beside_gb_s = 0;  // both at once
  double device_copy_gb_s = 0;                              // read plus written
  double texture_gsamples_s = 0;                            // bilinear, float32, all on one texel
  double clock_mhz = 0;                                     // of the multiprocessors, at most
};

/// Of device 0; best of several. Errors: UNAVAILABLE, INTERNAL.
absl::StatusOr<CudaCeilings> MeasureCudaCeilings();

}  // namespace isocenter::bench
