#include <algorithm>
#include <cmath>

#include "kernels/cuda/iterative/methods.h"
#include "kernels/cuda/iterative/sums.h"
#include "kernels/cuda/iterative/variation_kernels.cuh"
#include "kernels/ops/check.h"

namespace isocenter::cuda {
namespace {

// A slice next to a slab; null where there is none.
absl::StatusOr<const float*> SliceData(const ops::VolumeBuffer* slice) {
  if (slice == nullptr) return nullptr;
  ISO_ASSIGN_OR_RETURN(const Volume* own, AsVolume(*slice));
  return own->data();
}

absl::StatusOr<Slab> SlabOf(const ops::VolumeBuffer& f, const ops::NeighborSlices& neighbors) {
  ISO_ASSIGN_OR_RETURN(const Volume* own, AsVolume(f));
  const VolumeGrid& grid = own->grid();
  ISO_ASSIGN_OR_RETURN(const float* below, SliceData(neighbors.below));
  ISO_ASSIGN_OR_RETURN(const float* above, SliceData(neighbors.above));
  return Slab{own->data(), below, above, grid.nx, grid.ny, grid.nz};
}

// The data of a volume that is written.
absl::StatusOr<float*> WritableData(ops::VolumeBuffer& volume) {
  ISO_ASSIGN_OR_RETURN(Volume * own, AsVolume(volume));
  return own->data();
}

Scales ScalesOf(const VolumeGrid& grid) {
  const Vec3& mm = grid.spacing;
  const double typical = std::cbrt(mm.x * mm.y * mm.z);
  return {static_cast<float>(typical / mm.x), static_cast<float>(typical / mm.y),
          static_cast<float>(typical / mm.z)};
}

class Variation final : public ops::Variation {
 public:
  Variation(CudaSession& session, Sums sums) : session_(session), sums_(std::move(sums)) {}

  absl::Status DoAddTotalVariationGradient(double strength, double epsilon,
                                           const ops::VolumeBuffer& f,
                                           const ops::NeighborSlices& neighbors,
                                           ops::VolumeBuffer& gradient) override {
    ISO_ASSIGN_OR_RETURN(const Slab slab, SlabOf(f, neighbors));
    ISO_ASSIGN_OR_RETURN(float* target, WritableData(gradient));
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    // Not zero even where its square is, in float32.
    const auto square = static_cast<float>(std::max(epsilon * epsilon, 1e-37));
    TotalVariationGradientKernel<<<slab.tiles(), kSumThreads, 0, session_.stream()>>>(
        slab, ScalesOf(f.grid()), square, static_cast<float>(strength), target);
    return ToStatus(cudaGetLastError(), "TotalVariationGradientKernel");
  }

  absl::StatusOr<double> DoTotalVariation(double epsilon, const ops::VolumeBuffer& f,
                                          const ops::NeighborSlices& neighbors) override {
    ISO_ASSIGN_OR_RETURN(const Slab slab, SlabOf(f, neighbors));
    return SumOf(slab, TotalVariationBody{ScalesOf(f.grid()), static_cast<float>(epsilon)});
  }

  absl::Status DoAddHuberGradient(double strength, double delta, const ops::VolumeBuffer& f,
                                  const ops::NeighborSlices& neighbors,
                                  ops::VolumeBuffer& gradient) override {
    ISO_ASSIGN_OR_RETURN(const Slab slab, SlabOf(f, neighbors));
    ISO_ASSIGN_OR_RETURN(float* target, WritableData(gradient));
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    HuberGradientKernel<<<slab.tiles(), kSumThreads, 0, session_.stream()>>>(
        slab, ScalesOf(f.grid()), static_cast<float>(delta), static_cast<float>(strength), target);
    return ToStatus(cudaGetLastError(), "HuberGradientKernel");
  }

  absl::StatusOr<double> DoHuber(double delta, const ops::VolumeBuffer& f,
                                 const ops::NeighborSlices& neighbors) override {
    ISO_ASSIGN_OR_RETURN(const Slab slab, SlabOf(f, neighbors));
    return SumOf(slab, HuberBody{ScalesOf(f.grid()), static_cast<float>(delta)});
  }

  absl::Status DoAscendDual(double step, double bound, const ops::VolumeBuffer& f,
                            const ops::NeighborSlices& neighbors,
                            const ops::VectorField<ops::VolumeBuffer>& p) override {
    ISO_ASSIGN_OR_RETURN(const Slab slab, SlabOf(f, neighbors));
    ISO_ASSIGN_OR_RETURN(float* x, WritableData(*p.x));
    ISO_ASSIGN_OR_RETURN(float* y, WritableData(*p.y));
    ISO_ASSIGN_OR_RETURN(float* z, WritableData(*p.z));
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const AscendDualBody body{
        ScalesOf(f.grid()), static_cast<float>(step), static_cast<float>(bound), x, y, z};
    DifferencesKernel<<<slab.tiles(), kSumThreads, 0, session_.stream()>>>(slab, body, nullptr);
    return ToStatus(cudaGetLastError(), "DifferencesKernel");
  }

  absl::Status DoAddDivergence(double step, const ops::VectorField<const ops::VolumeBuffer>& p,
                               const ops::VolumeBuffer* below, ops::VolumeBuffer& f) override {
    ISO_ASSIGN_OR_RETURN(const Slab slab, SlabOf(*p.z, {.below = below}));
    ISO_ASSIGN_OR_RETURN(const Volume* x, AsVolume(*p.x));
    ISO_ASSIGN_OR_RETURN(const Volume* y, AsVolume(*p.y));
    ISO_ASSIGN_OR_RETURN(float* target, WritableData(f));
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    DivergenceKernel<<<slab.tiles(), kSumThreads, 0, session_.stream()>>>(
        slab, ScalesOf(f.grid()), static_cast<float>(step), x->data(), y->data(), target);
    return ToStatus(cudaGetLastError(), "DivergenceKernel");
  }

 private:
  template <class Body>
  absl::StatusOr<double> SumOf(const Slab& slab, const Body& body) {
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const int blocks = static_cast<int>(std::min<int64_t>(slab.tiles(), kMostPartialSums));
    DifferencesKernel<<<blocks, kSumThreads, 0, session_.stream()>>>(slab, body, sums_.partial());
    ISO_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    return sums_.Total(blocks, session_.stream());
  }

  CudaSession& session_;
  Sums sums_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::Variation>> NewVariation(CudaSession& session) {
  ISO_RETURN_IF_ERROR(session.MakeCurrent());
  ISO_ASSIGN_OR_RETURN(Sums sums, Sums::Create(session.memory()));
  return std::make_unique<Variation>(session, std::move(sums));
}

int64_t VariationBytes(const ops::Extents&) { return Sums::kBytes; }

}  // namespace isocenter::cuda
