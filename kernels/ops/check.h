// Checks that every backend makes of its arguments, with the same words.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/views.h"
#include "kernels/ops/device.h"

namespace isocenter::ops {

/// INVALID_ARGUMENT unless `part`, placed at slow index `first`, lies inside `whole` and agrees in
/// the other two extents. `what` names the slow index: "views" or "slices".
absl::Status CheckSlices(absl::string_view what, int64_t first, Shape3 part, Shape3 whole);

/// INVALID_ARGUMENT unless all extents are positive; RESOURCE_EXHAUSTED when `bytes` exceeds
/// `limit`.
absl::Status CheckAllocation(absl::string_view what, Shape3 shape, int64_t bytes, int64_t limit);

/// INVALID_ARGUMENT unless the shapes are equal.
absl::Status CheckSameShape(absl::string_view what, Shape3 got, Shape3 expected);

/// The errors for a buffer that another backend made, and for a stack laid out for another use.
absl::Status ForeignBuffer(absl::string_view what, absl::string_view backend);
absl::Status WrongUse(StackUse expected);

}  // namespace isocenter::ops
