// Vector arithmetic of iterative methods, on volumes and projection stacks where they are.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/geometry/detector_rows.h"
#include "kernels/ops/buffers.h"
#include "kernels/ops/hounsfield.h"

namespace isocenter::ops {

/// Element by element. The vectors of one call are all volumes of one shape or all stacks of one
/// shape and use. Errors: INVALID_ARGUMENT (shape, use, backend). The functions check, those that
/// Do it compute (kernels/ops/operations.h).
class Arithmetic {
 public:
  virtual ~Arithmetic() = default;

  absl::Status Fill(double value, Vector& y) { return DoFill(value, y); }
  /// y = x. Stacks may be of different uses.
  absl::Status Copy(const Vector& x, Vector& y);
  /// y = a·x + b·y. With b = 0 it does not matter what y holds, NaN included.
  absl::Status Axpby(double a, const Vector& x, double b, Vector& y);
  /// y *= x.
  absl::Status Multiply(const Vector& x, Vector& y);
  /// y += a·w·x.
  absl::Status MultiplyAdd(double a, const Vector& w, const Vector& x, Vector& y);
  /// y = max(y + a·w·x, least): a step that ends at a bound, in one pass over the vectors.
  absl::Status MultiplyAddAbove(double least, double a, const Vector& w, const Vector& x,
                                Vector& y);
  /// y = 1/y where y > threshold, else 0; threshold >= 0.
  absl::Status Invert(double threshold, Vector& y);
  /// y = exp(a·y).
  absl::Status Exponential(double a, Vector& y) { return DoExponential(a, y); }
  /// y = max(y, least).
  absl::Status ClampBelow(double least, Vector& y) { return DoClampBelow(least, y); }
  /// y = offset + slope·y + Σ turn[k]·max(0, y - at[k]): a table of HU or its inverse.
  absl::Status Bend(const HounsfieldHinges& hinges, Vector& y) { return DoBend(hinges, y); }

  /// Σ x·y, summed in float64 in an order that depends on the shape alone. Waits.
  absl::StatusOr<double> Dot(const Vector& x, const Vector& y);
  /// The same over some rows of each view only.
  absl::StatusOr<double> Dot(const ProjectionStack& x, const ProjectionStack& y, RowRange rows);

  /// to(view, to_row + r, u) += from(view, rows.first + r, u) for all views and r < rows.count.
  /// Both are kProjections with as many views and columns. `from` may belong to another session or
  /// another device of the backend; its work that was started before the call is waited for, and
  /// it may be changed again once the call has returned.
  absl::Status AddRows(const ProjectionStack& from, RowRange rows, int to_row, ProjectionStack& to);
  /// Copies slices of a volume to slices of another, of as many columns and rows; `from` as in
  /// AddRows.
  absl::Status CopySlices(const VolumeBuffer& from, int from_slice, int slices, VolumeBuffer& to,
                          int to_slice);

 private:
  virtual absl::Status DoFill(double value, Vector& y) = 0;
  virtual absl::Status DoCopy(const Vector& x, Vector& y) = 0;
  virtual absl::Status DoAxpby(double a, const Vector& x, double b, Vector& y) = 0;
  virtual absl::Status DoMultiply(const Vector& x, Vector& y) = 0;
  virtual absl::Status DoMultiplyAdd(double a, const Vector& w, const Vector& x, Vector& y) = 0;
  virtual absl::Status DoMultiplyAddAbove(double least, double a, const Vector& w, const Vector& x,
                                          Vector& y) = 0;
  virtual absl::Status DoInvert(double threshold, Vector& y) = 0;
  virtual absl::Status DoExponential(double a, Vector& y) = 0;
  virtual absl::Status DoClampBelow(double least, Vector& y) = 0;
  virtual absl::Status DoBend(const HounsfieldHinges& hinges, Vector& y) = 0;
  virtual absl::StatusOr<double> DoDot(const Vector& x, const Vector& y) = 0;
  virtual absl::StatusOr<double> DoDotOfRows(const ProjectionStack& x, const ProjectionStack& y,
                                             RowRange rows) = 0;
  virtual absl::Status DoAddRows(const ProjectionStack& from, RowRange rows, int to_row,
                                 ProjectionStack& to) = 0;
  virtual absl::Status DoCopySlices(const VolumeBuffer& from, int from_slice, int slices,
                                    VolumeBuffer& to, int to_slice) = 0;
};

}  // namespace isocenter::ops
