// `isocenter-bench fan-beam`: the study of Mendl et al. (ELCVIA 12 (2013) 1) on this machine.
#pragma once

#include "absl/status/status.h"
#include "tests/bench/fanbeam/form.h"
#include "tests/bench/fanbeam/options.h"

namespace isocenter::bench {

/// Seconds over threads, seconds and speed-ups of all forms, the filters' forms, errors against
/// double, noise in nine regions, noise power, and what channels' distances do to it.
absl::Status RunFanBeam(const FanBeamOptions& options);

// Its parts.

/// Fig. 4 and Table 2.
absl::Status RunFanBeamTimes(const FanBeamOptions& options,
                             const std::vector<FanBeamMethods>& methods);
/// Two GPUs of table 2: rows, and views, of one slice on several devices of a backend.
absl::Status RunFanBeamDevices(const FanBeamOptions& options,
                               const std::vector<FanBeamMethods>& methods);
/// Section 4.4.1, and the two forms of the filter.
absl::Status RunFanBeamErrors(const FanBeamOptions& options,
                              const std::vector<FanBeamMethods>& methods);
/// The linear decrease of section 3.2, with and without rows that the detector cuts.
absl::Status RunFanBeamDecrease(const FanBeamOptions& options);
/// Table 3 and Fig. 6, over many realizations; the spacings of channels.
absl::Status RunFanBeamNoise(const FanBeamOptions& options,
                             const std::vector<FanBeamMethods>& methods);

}  // namespace isocenter::bench
