#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/iterative/methods.h"
#include "kernels/cuda/iterative/variation_kernels.cuh"
#include "kernels/ops/check.h"

namespace isocenter::cuda {
namespace {

absl::Status CheckPositive(absl::string_view name, double value) {
  if (value > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " ", value, "; must be above 0"));
}

absl::Status CheckNotNegative(absl::string_view name, double value) {
  if (value >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " ", value, "; must be at least 0"));
}

// A slice next to a slab; null where there is none.
absl::StatusOr<const float*> SliceData(const ops::VolumeBuffer* slice, const VolumeGrid& grid) {
  if (slice == nullptr) return nullptr;
  ISO_ASSIGN_OR_RETURN(const Volume* own, AsVolume(*slice));
  ISO_RETURN_IF_ERROR(
      ops::CheckSameShape("neighbours", own->grid().shape(), {1, grid.ny, grid.nx}));
  return own->data();
}

absl::StatusOr<Slab> SlabOf(const ops::VolumeBuffer& f, const ops::NeighborSlices& neighbors) {
  ISO_ASSIGN_OR_RETURN(const Volume* own, AsVolume(f));
  const VolumeGrid& grid = own->grid();
  ISO_ASSIGN_OR_RETURN(const float* below, SliceData(neighbors.below, grid));
  ISO_ASSIGN_OR_RETURN(const float* above, SliceData(neighbors.above, grid));
  return Slab{own->data(), below, above, grid.nx, grid.ny, grid.nz};
}

// The data of a volume of the slab's shape that is written.
absl::StatusOr<float*> DataLike(const ops::VolumeBuffer& f, ops::VolumeBuffer& volume) {
  ISO_ASSIGN_OR_RETURN(Volume * own, AsVolume(volume));
  ISO_RETURN_IF_ERROR(ops::CheckSameShape("volumes", own->grid().shape(), f.grid().shape()));
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
  Variation(CudaDevice& device, Sums sums) : device_(device), sums_(std::move(sums)) {}

  absl::Status AddTotalVariationGradient(double strength, double epsilon,
                                         const ops::VolumeBuffer& f,
                                         const ops::NeighborSlices& neighbors,
                                         ops::VolumeBuffer& gradient) override {
    ISO_RETURN_IF_ERROR(CheckPositive("epsilon", epsilon));
    ISO_ASSIGN_OR_RETURN(const Slab slab, SlabOf(f, neighbors));
    ISO_ASSIGN_OR_RETURN(float* target, DataLike(f, gradient));
    ISO_RETURN_IF_ERROR(device_.MakeCurrent());
    // Not zero even where its square is, in float32.
    const auto square = static_cast<float>(std::max(epsilon * epsilon, 1e-37));
    TotalVariationGradientKernel<<<slab.tiles(), kSumThreads, 0, device_.stream()>>>(
        slab, ScalesOf(f.grid()), square, static_cast<float>(strength), target);
    return ToStatus(cudaGetLastError(), "TotalVariationGradientKernel");
  }

  absl::StatusOr<double> TotalVariation(double epsilon, const ops::VolumeBuffer& f,
                                        const ops::NeighborSlices& neighbors) override {
    ISO_RETURN_IF_ERROR(CheckNotNegative("epsilon", epsilon));
    ISO_ASSIGN_OR_RETURN(const Slab slab, SlabOf(f, neighbors));
    return SumOf(slab, TotalVariationBody{ScalesOf(f.grid()), static_cast<float>(epsilon)});
  }

  absl::Status AddHuberGradient(double strength, double delta, const ops::VolumeBuffer& f,
                                const ops::NeighborSlices& neighbors,
                                ops::VolumeBuffer& gradient) override {
    ISO_RETURN_IF_ERROR(CheckNotNegative("delta", delta));
    ISO_ASSIGN_OR_RETURN(const Slab slab, SlabOf(f, neighbors));
    ISO_ASSIGN_OR_RETURN(float* target, DataLike(f, gradient));
    ISO_RETURN_IF_ERROR(device_.MakeCurrent());
    HuberGradientKernel<<<slab.tiles(), kSumThreads, 0, device_.stream()>>>(
        slab, ScalesOf(f.grid()), static_cast<float>(delta), static_cast<float>(strength), target);
    return ToStatus(cudaGetLastError(), "HuberGradientKernel");
  }

  absl::StatusOr<double> Huber(double delta, const ops::VolumeBuffer& f,
                               const ops::NeighborSlices& neighbors) override {
    ISO_RETURN_IF_ERROR(CheckNotNegative("delta", delta));
    ISO_ASSIGN_OR_RETURN(const Slab slab, SlabOf(f, neighbors));
    return SumOf(slab, HuberBody{ScalesOf(f.grid()), static_cast<float>(delta)});
  }

  absl::Status AscendDual(double step, double bound, const ops::VolumeBuffer& f,
                          const ops::NeighborSlices& neighbors,
                          const ops::VectorField<ops::VolumeBuffer>& p) override {
    ISO_RETURN_IF_ERROR(CheckPositive("bound", bound));
    ISO_ASSIGN_OR_RETURN(const Slab slab, SlabOf(f, neighbors));
    ISO_ASSIGN_OR_RETURN(float* x, DataLike(f, *p.x));
    ISO_ASSIGN_OR_RETURN(float* y, DataLike(f, *p.y));
    ISO_ASSIGN_OR_RETURN(float* z, DataLike(f, *p.z));
    ISO_RETURN_IF_ERROR(device_.MakeCurrent());
    const AscendDualBody body{
        ScalesOf(f.grid()), static_cast<float>(step), static_cast<float>(bound), x, y, z};
    DifferencesKernel<<<slab.tiles(), kSumThreads, 0, device_.stream()>>>(slab, body, nullptr);
    return ToStatus(cudaGetLastError(), "DifferencesKernel");
  }

  absl::Status AddDivergence(double step, const ops::VectorField<const ops::VolumeBuffer>& p,
                             const ops::VolumeBuffer* below, ops::VolumeBuffer& f) override {
    ISO_ASSIGN_OR_RETURN(const Slab slab, SlabOf(*p.z, {.below = below}));
    ISO_ASSIGN_OR_RETURN(const Volume* x, AsVolume(*p.x));
    ISO_ASSIGN_OR_RETURN(const Volume* y, AsVolume(*p.y));
    for (const Volume* component : {x, y}) {
      ISO_RETURN_IF_ERROR(
          ops::CheckSameShape("components", component->grid().shape(), p.z->grid().shape()));
    }
    ISO_ASSIGN_OR_RETURN(float* target, DataLike(*p.z, f));
    ISO_RETURN_IF_ERROR(device_.MakeCurrent());
    DivergenceKernel<<<slab.tiles(), kSumThreads, 0, device_.stream()>>>(
        slab, ScalesOf(f.grid()), static_cast<float>(step), x->data(), y->data(), target);
    return ToStatus(cudaGetLastError(), "DivergenceKernel");
  }

 private:
  template <class Body>
  absl::StatusOr<double> SumOf(const Slab& slab, const Body& body) {
    ISO_RETURN_IF_ERROR(device_.MakeCurrent());
    const int blocks = static_cast<int>(std::min<int64_t>(slab.tiles(), kMostPartialSums));
    DifferencesKernel<<<blocks, kSumThreads, 0, device_.stream()>>>(slab, body, sums_.partial());
    ISO_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    return sums_.Total(blocks, device_.stream());
  }

  CudaDevice& device_;
  Sums sums_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::Variation>> NewVariation(CudaDevice& device) {
  ISO_RETURN_IF_ERROR(device.MakeCurrent());
  ISO_ASSIGN_OR_RETURN(Sums sums, Sums::Create());
  return std::make_unique<Variation>(device, std::move(sums));
}

}  // namespace isocenter::cuda
