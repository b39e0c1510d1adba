// What operations and devices ask of their arguments, in the same words for every backend.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/views.h"
#include "kernels/geometry/detector_rows.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/ops/buffers.h"

namespace isocenter::ops {

/// INVALID_ARGUMENT unless `part`, placed at slow index `first`, lies inside `whole` and agrees in
/// the other two extents. `what` names the slow index: "views" or "slices".
absl::Status CheckSlices(absl::string_view what, int64_t first, Shape3 part, Shape3 whole);

/// INVALID_ARGUMENT unless all extents are positive; RESOURCE_EXHAUSTED when `bytes` exceeds
/// `limit`.
absl::Status CheckAllocation(absl::string_view what, Shape3 shape, int64_t bytes, int64_t limit);

/// INVALID_ARGUMENT unless `shape` is positive and no extent exceeds that of `capacity`.
absl::Status CheckReshape(Shape3 shape, Shape3 capacity);

/// INVALID_ARGUMENT unless the shapes are equal.
absl::Status CheckSameShape(absl::string_view what, Shape3 got, Shape3 expected);

/// INVALID_ARGUMENT unless `rows` lie inside a stack of `available` rows.
absl::Status CheckRows(RowRange rows, int64_t available);

/// INVALID_ARGUMENT unless the stack was made for this use.
absl::Status CheckUse(const ProjectionStack& stack, StackUse use);

/// INVALID_ARGUMENT unless all values are finite. `view` is for the message.
absl::Status CheckMatrix(size_t view, const ProjectionMatrix& matrix);

/// The same for each, and unless the stack has a view for each.
absl::Status CheckMatrices(std::span<const ProjectionMatrix> matrices, const Shape3& stack);

/// INVALID_ARGUMENT unless `value` is above 0 and finite, or 0 or above.
absl::Status CheckPositive(absl::string_view name, double value);
absl::Status CheckNotNegative(absl::string_view name, double value);

/// The error for a buffer that another backend made.
absl::Status ForeignBuffer(absl::string_view what, absl::string_view backend);

/// The `backend`'s own type of stack or volume behind the interface. Errors: INVALID_ARGUMENT
/// (another backend's).
template <class Own, class Buffer>
auto OwnBuffer(Buffer& buffer, absl::string_view backend)
    -> absl::StatusOr<std::conditional_t<std::is_const_v<Buffer>, const Own*, Own*>> {
  auto* own = dynamic_cast<std::conditional_t<std::is_const_v<Buffer>, const Own*, Own*>>(&buffer);
  if (own == nullptr) {
    constexpr bool kStack = std::is_base_of_v<ProjectionStack, Own>;
    return ForeignBuffer(kStack ? "projection stack" : "volume", backend);
  }
  return own;
}

}  // namespace isocenter::ops
