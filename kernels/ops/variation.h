// Differences between neighbouring voxels: what edge-preserving priors are made of.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/ops/buffers.h"

namespace isocenter::ops {

/// The slices next to a slab of a larger volume, each a volume of one slice. Null: the volume ends
/// there.
struct NeighborSlices {
  const VolumeBuffer* below = nullptr;
  const VolumeBuffer* above = nullptr;
};

/// A field of three components, one per index axis.
template <class Buffer>
struct VectorField {
  Buffer* x;
  Buffer* y;
  Buffer* z;
};

/// Differences are (∇f)_a(j) = (f(j + e_a) - f(j))·g_a with g_a = ∛V / spacing_a (V the voxel's
/// volume), so that they have the unit of f and 1 is one typical voxel; they are 0 where j + e_a is
/// beyond the volume. div is the negative adjoint of ∇. Errors: INVALID_ARGUMENT (shape, backend,
/// settings). The functions check, those that Do it compute (kernels/ops/operations.h).
class Variation {
 public:
  virtual ~Variation() = default;

  /// gradient += strength · ∂/∂f Σ_j √(|∇f(j)|² + epsilon²) for the slab's voxels (Sidky & Pan,
  /// PMB 53 (2008) 4777). epsilon > 0.
  absl::Status AddTotalVariationGradient(double strength, double epsilon, const VolumeBuffer& f,
                                         const NeighborSlices& neighbors, VolumeBuffer& gradient);
  /// Σ_j √(|∇f(j)|² + epsilon²) - epsilon over the slab's voxels; epsilon >= 0. Waits.
  absl::StatusOr<double> TotalVariation(double epsilon, const VolumeBuffer& f,
                                        const NeighborSlices& neighbors);

  /// gradient += strength · ∂/∂f Σ over pairs of voxels next to each other along a of
  /// g_a² ψ(difference), ψ(t) = t²/2 up to |t| = delta and delta·|t| - delta²/2 beyond (Huber);
  /// here differences are without the factor g_a. Pairs across the slab's ends count for its own
  /// voxels.
  absl::Status AddHuberGradient(double strength, double delta, const VolumeBuffer& f,
                                const NeighborSlices& neighbors, VolumeBuffer& gradient);
  /// The sum over pairs of which the lower voxel is the slab's. Waits.
  absl::StatusOr<double> Huber(double delta, const VolumeBuffer& f,
                               const NeighborSlices& neighbors);

  /// p = q / max(1, |q| / bound) with q = p + step·∇f: a step of the dual of total variation
  /// (Chambolle & Pock, JMIV 40 (2011) 120; Beck & Teboulle, IEEE TIP 18 (2009) 2419). bound > 0.
  absl::Status AscendDual(double step, double bound, const VolumeBuffer& f,
                          const NeighborSlices& neighbors, const VectorField<VolumeBuffer>& p);
  /// f += step · div p. `below` is p.z's slice below the slab; null: the volume ends there. What p
  /// has at the volume's last voxels along a component's own axis must be 0, as AscendDual leaves
  /// it: a slab is not told whether the volume goes on above.
  absl::Status AddDivergence(double step, const VectorField<const VolumeBuffer>& p,
                             const VolumeBuffer* below, VolumeBuffer& f);

 private:
  virtual absl::Status DoAddTotalVariationGradient(double strength, double epsilon,
                                                   const VolumeBuffer& f,
                                                   const NeighborSlices& neighbors,
                                                   VolumeBuffer& gradient) = 0;
  virtual absl::StatusOr<double> DoTotalVariation(double epsilon, const VolumeBuffer& f,
                                                  const NeighborSlices& neighbors) = 0;
  virtual absl::Status DoAddHuberGradient(double strength, double delta, const VolumeBuffer& f,
                                          const NeighborSlices& neighbors,
                                          VolumeBuffer& gradient) = 0;
  virtual absl::StatusOr<double> DoHuber(double delta, const VolumeBuffer& f,
                                         const NeighborSlices& neighbors) = 0;
  virtual absl::Status DoAscendDual(double step, double bound, const VolumeBuffer& f,
                                    const NeighborSlices& neighbors,
                                    const VectorField<VolumeBuffer>& p) = 0;
  virtual absl::Status DoAddDivergence(double step, const VectorField<const VolumeBuffer>& p,
                                       const VolumeBuffer* below, VolumeBuffer& f) = 0;
};

}  // namespace isocenter::ops
