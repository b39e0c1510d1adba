// How a criterion of a back-projected volume changes with the matrices that it was made with.
#pragma once

#include <array>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/ops/buffers.h"

namespace isocenter::ops {

/// dE/dP of one view, row-major as the matrix's own elements.
using MatrixSlope = std::array<double, 12>;

/// The adjoint of what Backproject's volume f does when matrices change. With s = dE/df for each
/// voxel x, g = s·w⁻³, and p, p_u and p_v the view's bilinear sample and its derivatives (those of
/// the four pixels around; zero from one pixel outside the detector on):
///   dE/dP_1 = Σ_x g·p_u·(x, 1),  dE/dP_2 = Σ_x g·p_v·(x, 1),
///   dE/dP_3 = -Σ_x g·(2 p + u·p_u + v·p_v)·(x, 1),  x in world millimetres.
/// Filtered projections are held fixed: weights that follow from matrices are not differentiated.
/// Voxels with w <= 0 add nothing. Errors: INVALID_ARGUMENT (shape, use, backend, matrices that
/// are not finite or more than the views of the stack, another number of slopes).
class MatrixGradient {
 public:
  virtual ~MatrixGradient() = default;
  /// matrices[i] belongs to view i of the stack, as in Backproject, and slopes[i] becomes what is
  /// said above; `volume_slopes` is dE/df. Waits for the device. The sums have a fixed order,
  /// whatever the number of threads.
  absl::Status Run(std::span<const ProjectionMatrix> matrices, const ProjectionStack& filtered,
                   const VolumeBuffer& volume_slopes, std::span<MatrixSlope> slopes);

 private:
  virtual absl::Status DoRun(std::span<const ProjectionMatrix> matrices,
                             const ProjectionStack& filtered, const VolumeBuffer& volume_slopes,
                             std::span<MatrixSlope> slopes) = 0;
};

}  // namespace isocenter::ops
