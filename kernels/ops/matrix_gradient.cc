#include "kernels/ops/matrix_gradient.h"

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/check.h"

namespace isocenter::ops {

absl::Status MatrixGradient::Run(std::span<const ProjectionMatrix> matrices,
                                 const ProjectionStack& filtered, const VolumeBuffer& volume_slopes,
                                 std::span<MatrixSlope> slopes) {
  ISO_RETURN_IF_ERROR(CheckUse(filtered, StackUse::kProjections));
  ISO_RETURN_IF_ERROR(CheckMatrices(matrices, filtered.shape()));
  if (slopes.size() != matrices.size()) {
    return absl::InvalidArgumentError(absl::StrCat("room for ", slopes.size(), " slopes of ",
                                                   matrices.size(),
                                                   " matrices; legal is one for each"));
  }
  return DoRun(matrices, filtered, volume_slopes, slopes);
}

}  // namespace isocenter::ops
