// Variation (kernels/ops/variation.h) over the pieces of a plan.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "kernels/recon/iterative/linear_system.h"

namespace isocenter::recon {

/// A field of three components.
struct VolumeField {
  VolumeVector& x;
  VolumeVector& y;
  VolumeVector& z;
};

/// The operations of ops::Variation on the result's voxels as a whole: slices next to a piece come
/// from wherever they are. Coarse surroundings have no prior, and are left as they are.
class PiecewiseVariation {
 public:
  /// Errors: RESOURCE_EXHAUSTED, NOT_FOUND (a backend without variation).
  static absl::StatusOr<std::unique_ptr<PiecewiseVariation>> Create(LinearSystem& system);

  /// What Create takes of a device's memory with what its operation takes. Errors: NOT_FOUND.
  static absl::StatusOr<int64_t> DeviceBytes(const RefinementPlan& plan,
                                             const ops::Registry& registry, const ops::Device& on,
                                             const ops::Extents& extents);

  absl::Status AddTotalVariationGradient(double strength, double epsilon, VolumeVector& f,
                                         VolumeVector& gradient);
  absl::StatusOr<double> TotalVariation(double epsilon, VolumeVector& f);
  absl::Status AddHuberGradient(double strength, double delta, VolumeVector& f,
                                VolumeVector& gradient);
  absl::StatusOr<double> Huber(double delta, VolumeVector& f);
  /// gradient += strength · ∂/∂f of half the squared differences, Huber's with an endless delta.
  absl::Status AddQuadraticGradient(double strength, VolumeVector& f, VolumeVector& gradient);
  absl::Status AscendDual(double step, double bound, VolumeVector& f, const VolumeField& p);
  absl::Status AddDivergence(double step, const VolumeField& p, VolumeVector& f);

  /// Σ g_a² of the differences' factors: ‖∇‖² is at most four times as much.
  double SquaredFactors() const;

 private:
  /// One device's operations and its room for the slices next to a piece.
  struct Part {
    std::unique_ptr<ops::Variation> variation;
    std::unique_ptr<ops::VolumeBuffer> below, above;
  };
  explicit PiecewiseVariation(LinearSystem& system) : system_(system) {}
  bool HasPrior(int piece) const;
  ops::Variation& VariationOf(int piece);
  /// The slice of f below (or above) a piece; null where the volume ends.
  absl::StatusOr<const ops::VolumeBuffer*> Below(VolumeVector& f, int piece);
  absl::StatusOr<const ops::VolumeBuffer*> Above(VolumeVector& f, int piece);
  /// Calls work(piece, f's piece, the slices next to it) for each piece of the result.
  absl::Status OnNeighbors(VolumeVector& f,
                           const std::function<absl::Status(int, const ops::VolumeBuffer&,
                                                            const ops::NeighborSlices&)>& work);

  LinearSystem& system_;
  std::vector<Part> parts_;
  std::vector<std::vector<int>> rounds_;  // pieces, in each round at most one of each device
};

}  // namespace isocenter::recon
