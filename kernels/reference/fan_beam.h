// The reference implementations of fan-beam reconstruction (contracts: kernels/ops/fan_beam.h).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/ops/fan_beam.h"

namespace isocenter::reference {

/// Errors: INVALID_ARGUMENT (a specification out of range).
absl::StatusOr<std::unique_ptr<ops::FanBeamFilter>> NewFanBeamFilter(
    const ops::FanBeamFilterSpec& spec);
std::unique_ptr<ops::FanBeamBackproject> NewFanBeamBackproject();

}  // namespace isocenter::reference
