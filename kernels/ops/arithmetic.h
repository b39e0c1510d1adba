// Vector arithmetic of iterative methods, on volumes and projection stacks where they are.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/geometry/detector_rows.h"
#include "kernels/ops/device.h"

namespace isocenter::ops {

/// Element by element. The vectors of one call are all volumes of one shape or all stacks of one
/// shape and use. Errors: INVALID_ARGUMENT (shape, use, backend).
class Arithmetic {
 public:
  virtual ~Arithmetic() = default;

  virtual absl::Status Fill(double value, Vector& y) = 0;
  /// y = x. Stacks may be of different uses.
  virtual absl::Status Copy(const Vector& x, Vector& y) = 0;
  /// y = a·x + b·y. With b = 0 it does not matter what y holds, NaN included.
  virtual absl::Status Axpby(double a, const Vector& x, double b, Vector& y) = 0;
  /// y *= x.
  virtual absl::Status Multiply(const Vector& x, Vector& y) = 0;
  /// y += a·w·x.
  virtual absl::Status MultiplyAdd(double a, const Vector& w, const Vector& x, Vector& y) = 0;
  /// y = max(y + a·w·x, least): a step that ends at a bound, in one pass over the vectors.
  virtual absl::Status MultiplyAddAbove(double least, double a, const Vector& w, const Vector& x,
                                        Vector& y) = 0;
  /// y = 1/y where y > threshold, else 0; threshold >= 0.
  virtual absl::Status Invert(double threshold, Vector& y) = 0;
  /// y = exp(a·y).
  virtual absl::Status Exponential(double a, Vector& y) = 0;
  /// y = max(y, least).
  virtual absl::Status ClampBelow(double least, Vector& y) = 0;

  /// Σ x·y, summed in float64 in an order that depends on the shape alone. Waits.
  virtual absl::StatusOr<double> Dot(const Vector& x, const Vector& y) = 0;
  /// The same over some rows of each view only.
  virtual absl::StatusOr<double> Dot(const ProjectionStack& x, const ProjectionStack& y,
                                     RowRange rows) = 0;

  /// to(view, to_row + r, u) += from(view, rows.first + r, u) for all views and r < rows.count.
  /// Both are kProjections with as many views and columns. `from` may belong to another session or
  /// another device of the backend; its work that was started before the call is waited for, and
  /// it may be changed again once the call has returned.
  virtual absl::Status AddRows(const ProjectionStack& from, RowRange rows, int to_row,
                               ProjectionStack& to) = 0;
  /// Copies one slice of a volume to a slice of another, of as many columns and rows; `from` as
  /// in AddRows.
  virtual absl::Status CopySlice(const VolumeBuffer& from, int from_slice, VolumeBuffer& to,
                                 int to_slice) = 0;
};

}  // namespace isocenter::ops
