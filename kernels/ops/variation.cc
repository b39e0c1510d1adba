#include "kernels/ops/variation.h"

#include "kernels/base/status_macros.h"
#include "kernels/ops/check.h"

namespace isocenter::ops {
namespace {

absl::Status CheckLike(const VolumeBuffer& volume, const VolumeBuffer& f) {
  return CheckSameShape("volumes", volume.grid().shape(), f.grid().shape());
}

absl::Status CheckNeighbors(const VolumeBuffer& f, const NeighborSlices& neighbors) {
  for (const VolumeBuffer* slice : {neighbors.below, neighbors.above}) {
    if (slice == nullptr) continue;
    ISO_RETURN_IF_ERROR(CheckSameShape("neighbouring slices", slice->grid().shape(),
                                       {1, f.grid().ny, f.grid().nx}));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Variation::AddTotalVariationGradient(double strength, double epsilon,
                                                  const VolumeBuffer& f,
                                                  const NeighborSlices& neighbors,
                                                  VolumeBuffer& gradient) {
  ISO_RETURN_IF_ERROR(CheckPositive("epsilon", epsilon));
  ISO_RETURN_IF_ERROR(CheckNeighbors(f, neighbors));
  ISO_RETURN_IF_ERROR(CheckLike(gradient, f));
  return DoAddTotalVariationGradient(strength, epsilon, f, neighbors, gradient);
}

absl::StatusOr<double> Variation::TotalVariation(double epsilon, const VolumeBuffer& f,
                                                 const NeighborSlices& neighbors) {
  ISO_RETURN_IF_ERROR(CheckNotNegative("epsilon", epsilon));
  ISO_RETURN_IF_ERROR(CheckNeighbors(f, neighbors));
  return DoTotalVariation(epsilon, f, neighbors);
}

absl::Status Variation::AddHuberGradient(double strength, double delta, const VolumeBuffer& f,
                                         const NeighborSlices& neighbors, VolumeBuffer& gradient) {
  ISO_RETURN_IF_ERROR(CheckPositive("delta", delta));
  ISO_RETURN_IF_ERROR(CheckNeighbors(f, neighbors));
  ISO_RETURN_IF_ERROR(CheckLike(gradient, f));
  return DoAddHuberGradient(strength, delta, f, neighbors, gradient);
}

absl::StatusOr<double> Variation::Huber(double delta, const VolumeBuffer& f,
                                        const NeighborSlices& neighbors) {
  ISO_RETURN_IF_ERROR(CheckPositive("delta", delta));
  ISO_RETURN_IF_ERROR(CheckNeighbors(f, neighbors));
  return DoHuber(delta, f, neighbors);
}

absl::Status Variation::AscendDual(double step, double bound, const VolumeBuffer& f,
                                   const NeighborSlices& neighbors,
                                   const VectorField<VolumeBuffer>& p) {
  ISO_RETURN_IF_ERROR(CheckPositive("bound", bound));
  ISO_RETURN_IF_ERROR(CheckNeighbors(f, neighbors));
  for (const VolumeBuffer* component : {p.x, p.y, p.z}) {
    ISO_RETURN_IF_ERROR(CheckLike(*component, f));
  }
  return DoAscendDual(step, bound, f, neighbors, p);
}

absl::Status Variation::AddDivergence(double step, const VectorField<const VolumeBuffer>& p,
                                      const VolumeBuffer* below, VolumeBuffer& f) {
  for (const VolumeBuffer* component : {p.x, p.y, p.z}) {
    ISO_RETURN_IF_ERROR(CheckLike(*component, f));
  }
  ISO_RETURN_IF_ERROR(CheckNeighbors(f, {.below = below}));
  return DoAddDivergence(step, p, below, f);
}

}  // namespace isocenter::ops
