#include "kernels/ops/arithmetic.h"

#include "kernels/base/status_macros.h"
#include "kernels/ops/check.h"

namespace isocenter::ops {
namespace {

enum class Uses { kSame, kAny };

absl::Status CheckAlike(const Vector& x, const Vector& y, Uses uses = Uses::kSame) {
  const auto* x_stack = dynamic_cast<const ProjectionStack*>(&x);
  const auto* y_stack = dynamic_cast<const ProjectionStack*>(&y);
  if (x_stack != nullptr && y_stack != nullptr) {
    ISO_RETURN_IF_ERROR(CheckSameShape("projections", x_stack->shape(), y_stack->shape()));
    return uses == Uses::kAny ? absl::OkStatus() : CheckUse(*x_stack, y_stack->use());
  }
  const auto* x_volume = dynamic_cast<const VolumeBuffer*>(&x);
  const auto* y_volume = dynamic_cast<const VolumeBuffer*>(&y);
  if (x_volume != nullptr && y_volume != nullptr) {
    return CheckSameShape("volumes", x_volume->grid().shape(), y_volume->grid().shape());
  }
  return absl::InvalidArgumentError(
      "a volume and a projection stack in one call; legal are volumes only, or stacks only");
}

}  // namespace

absl::Status Arithmetic::Copy(const Vector& x, Vector& y) {
  ISO_RETURN_IF_ERROR(CheckAlike(x, y, Uses::kAny));
  return DoCopy(x, y);
}

absl::Status Arithmetic::Axpby(double a, const Vector& x, double b, Vector& y) {
  ISO_RETURN_IF_ERROR(CheckAlike(x, y));
  return DoAxpby(a, x, b, y);
}

absl::Status Arithmetic::Multiply(const Vector& x, Vector& y) {
  ISO_RETURN_IF_ERROR(CheckAlike(x, y));
  return DoMultiply(x, y);
}

absl::Status Arithmetic::MultiplyAdd(double a, const Vector& w, const Vector& x, Vector& y) {
  ISO_RETURN_IF_ERROR(CheckAlike(w, y));
  ISO_RETURN_IF_ERROR(CheckAlike(x, y));
  return DoMultiplyAdd(a, w, x, y);
}

absl::Status Arithmetic::MultiplyAddAbove(double least, double a, const Vector& w, const Vector& x,
                                          Vector& y) {
  ISO_RETURN_IF_ERROR(CheckAlike(w, y));
  ISO_RETURN_IF_ERROR(CheckAlike(x, y));
  return DoMultiplyAddAbove(least, a, w, x, y);
}

absl::Status Arithmetic::Invert(double threshold, Vector& y) {
  ISO_RETURN_IF_ERROR(CheckNotNegative("the threshold of an inversion", threshold));
  return DoInvert(threshold, y);
}

absl::StatusOr<double> Arithmetic::Dot(const Vector& x, const Vector& y) {
  ISO_RETURN_IF_ERROR(CheckAlike(x, y));
  return DoDot(x, y);
}

absl::StatusOr<double> Arithmetic::Dot(const ProjectionStack& x, const ProjectionStack& y,
                                       RowRange rows) {
  ISO_RETURN_IF_ERROR(CheckAlike(x, y));
  ISO_RETURN_IF_ERROR(CheckRows(rows, x.shape().middle));
  return DoDotOfRows(x, y, rows);
}

absl::Status Arithmetic::AddRows(const ProjectionStack& from, RowRange rows, int to_row,
                                 ProjectionStack& to) {
  ISO_RETURN_IF_ERROR(CheckUse(from, StackUse::kProjections));
  ISO_RETURN_IF_ERROR(CheckUse(to, StackUse::kProjections));
  const Shape3 &a = from.shape(), &b = to.shape();
  ISO_RETURN_IF_ERROR(
      CheckSameShape("projections, but for their rows,", {a.slow, b.middle, a.fast}, b));
  ISO_RETURN_IF_ERROR(CheckRows(rows, a.middle));
  ISO_RETURN_IF_ERROR(CheckRows({to_row, rows.count}, b.middle));
  return DoAddRows(from, rows, to_row, to);
}

absl::Status Arithmetic::CopySlices(const VolumeBuffer& from, int from_slice, int slices,
                                    VolumeBuffer& to, int to_slice) {
  const Shape3 run{slices, to.grid().ny, to.grid().nx};
  ISO_RETURN_IF_ERROR(CheckSlices("slices", from_slice, run, from.grid().shape()));
  ISO_RETURN_IF_ERROR(CheckSlices("slices", to_slice, run, to.grid().shape()));
  return DoCopySlices(from, from_slice, slices, to, to_slice);
}

}  // namespace isocenter::ops
