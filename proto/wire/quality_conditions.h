// How a scan of a phantom was made, as a message and as kernels/quality compares it.
#pragma once

#include "absl/status/status.h"
#include "isocenter/v1/quality.pb.h"
#include "kernels/quality/conditions.h"

namespace isocenter::wire {

/// INVALID_ARGUMENT with the field, its value and what is legal.
absl::Status CheckConditions(const v1::QualityConditions& conditions);

/// Without phantom, room and protocol, which results have beside their conditions.
quality::Conditions ConditionsFromProto(const v1::QualityConditions& proto);
v1::QualityConditions ToProto(const quality::Conditions& conditions);

}  // namespace isocenter::wire
