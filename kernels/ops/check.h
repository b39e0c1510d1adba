// Checks that every backend makes of its arguments, with the same words.
#pragma once

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/views.h"
#include "kernels/ops/device.h"
#include "kernels/ops/operations.h"

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

/// The rows of each view that a ramp filter is to work on: those of the line integrals, at most the
/// spec's. INVALID_ARGUMENT unless both stacks hold `views` views of as many rows and of the spec's
/// columns.
absl::StatusOr<int64_t> CheckFilterStacks(const RampFilterSpec& spec, int views,
                                          Shape3 line_integrals, Shape3 filtered);

/// The errors for a buffer that another backend made, and for a stack laid out for another use.
absl::Status ForeignBuffer(absl::string_view what, absl::string_view backend);
absl::Status WrongUse(StackUse expected);

/// The `backend`'s own type of buffer behind the interface; Stack has use(). Errors:
/// INVALID_ARGUMENT (another backend's buffer, or a stack for another use).
template <class Stack>
absl::StatusOr<const Stack*> OwnStack(const ProjectionStack& stack, StackUse use,
                                      absl::string_view backend) {
  const auto* own = dynamic_cast<const Stack*>(&stack);
  if (own == nullptr) return ForeignBuffer("projection stack", backend);
  if (own->use() != use) return WrongUse(use);
  return own;
}

template <class Stack>
absl::StatusOr<Stack*> OwnStack(ProjectionStack& stack, StackUse use, absl::string_view backend) {
  ISO_ASSIGN_OR_RETURN(const Stack* own, OwnStack<Stack>(std::as_const(stack), use, backend));
  return const_cast<Stack*>(own);
}

template <class Volume>
absl::StatusOr<Volume*> OwnVolume(VolumeBuffer& volume, absl::string_view backend) {
  auto* own = dynamic_cast<Volume*>(&volume);
  if (own == nullptr) return ForeignBuffer("volume", backend);
  return own;
}

template <class Volume>
absl::StatusOr<const Volume*> OwnVolume(const VolumeBuffer& volume, absl::string_view backend) {
  return OwnVolume<Volume>(const_cast<VolumeBuffer&>(volume), backend);
}

}  // namespace isocenter::ops
