#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/cuda/corrections/cone_beam_kernels.h"
#include "kernels/cuda/corrections/second_pass_methods.h"

namespace isocenter::cuda {
namespace {

int3 SizeOf(const Volume& volume) {
  const VolumeGrid& grid = volume.grid();
  return {grid.nx, grid.ny, grid.nz};
}

class ConeBeamArtefact final : public ops::ConeBeamArtefact {
 public:
  ConeBeamArtefact(CudaSession& session, const ops::ConeBeamSpec& spec)
      : ops::ConeBeamArtefact(spec), session_(session) {}

  absl::Status CopyKnownSlices() {
    ISO_RETURN_IF_ERROR(CopyIn<int>(spec().first, first_));
    return CopyIn<int>(spec().last, last_);
  }

 private:
  absl::Status DoMakeModel(const ops::VolumeBuffer& volume, ops::VolumeBuffer& model) override {
    ISO_ASSIGN_OR_RETURN(const Volume* from, AsVolume(volume));
    ISO_ASSIGN_OR_RETURN(Volume * to, AsVolume(model));
    const ops::HounsfieldScale& scale = spec().scale;
    const ModelledTissue tissue{.attenuation = ops::AttenuationHinges(scale),
                                .air_hu = static_cast<float>(spec().air_hu),
                                .tissue_hu = static_cast<float>(spec().tissue_hu),
                                .bone_hu = static_cast<float>(spec().bone_hu),
                                .water = static_cast<float>(ops::AttenuationOf(scale, 0))};
    return LaunchConeBeamModel(MergingOf(*from, *to), tissue, known(), from->data(), to->data(),
                               session_.stream());
  }

  absl::StatusOr<int64_t> DoCountDense(std::span<const int> columns, double least,
                                       const ops::VolumeBuffer& model) override {
    ISO_ASSIGN_OR_RETURN(const Volume* own, AsVolume(model));
    const auto count = static_cast<int>(columns.size());
    if (count == 0) return 0;
    ISO_RETURN_IF_ERROR(CopyIn(columns, columns_));
    ISO_ASSIGN_OR_RETURN(double* const counts, Results<double>(count));
    ISO_RETURN_IF_ERROR(LaunchCountDense(SizeOf(*own), columns_.data(), count, least, known(),
                                         own->data(), counts, session_.stream()));
    ISO_ASSIGN_OR_RETURN(const std::vector<double> of_columns, CopyOut(counts, count));
    int64_t all = 0;
    for (const double dense : of_columns) all += static_cast<int64_t>(dense);
    return all;
  }

  absl::StatusOr<std::vector<ops::ConeBeamSums>> DoFind(ops::VolumeBuffer& model,
                                                        ops::VolumeBuffer& reconstructed) override {
    ISO_ASSIGN_OR_RETURN(Volume * found, AsVolume(model));
    ISO_ASSIGN_OR_RETURN(Volume * weighted, AsVolume(reconstructed));
    const int64_t voxels = found->grid().voxels();
    ISO_RETURN_IF_ERROR(weights_.Reserve(session_.memory(), voxels));
    ISO_RETURN_IF_ERROR(smoothed_weights_.Reserve(session_.memory(), voxels));
    const int heights = spec().heights.count;
    ISO_ASSIGN_OR_RETURN(ops::ConeBeamSums* const sums, Results<ops::ConeBeamSums>(heights));
    const int3 size = SizeOf(*found);
    const cudaStream_t stream = session_.stream();
    ISO_RETURN_IF_ERROR(LaunchConeBeamDifference(size, known(), spec().scale.mu_water_per_mm,
                                                 found->data(), weighted->data(), weights_.data(),
                                                 stream));
    ISO_RETURN_IF_ERROR(LaunchWeightedMean(size, weighted->data(), weights_.data(),
                                           smoothed_weights_.data(), found->data(), stream));
    ISO_RETURN_IF_ERROR(LaunchConeBeamSums(size, spec().heights, smoothed_weights_.data(),
                                           found->data(), sums, stream));
    return CopyOut(sums, heights);
  }

  absl::StatusOr<Kept> DoKeep(std::span<const float> shares, ops::VolumeBuffer& found) override {
    ISO_ASSIGN_OR_RETURN(Volume * own, AsVolume(found));
    ISO_RETURN_IF_ERROR(CopyIn(shares, shares_));
    const int3 size = SizeOf(*own);
    ISO_ASSIGN_OR_RETURN(Kept* const kept, Results<Kept>(size.z));
    ISO_RETURN_IF_ERROR(LaunchKeepShares(size, spec().heights, known(), shares_.data(), own->data(),
                                         kept, session_.stream()));
    ISO_ASSIGN_OR_RETURN(const std::vector<Kept> of_slices, CopyOut(kept, size.z));
    Kept all;
    for (const Kept& slice : of_slices) {
      all.squares += slice.squares;
      all.most = std::max(all.most, slice.most);
    }
    return all;
  }

  absl::Status DoTakeOff(const ops::VolumeBuffer& artefact, ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(const Volume* from, AsVolume(artefact));
    ISO_ASSIGN_OR_RETURN(Volume * to, AsVolume(volume));
    return LaunchTakeOff(MergingOf(*to, *from), spec().scale, from->data(), to->data(),
                         session_.stream());
  }

  KnownSlices known() const { return {first_.data(), last_.data()}; }
  ConeBeamMerging MergingOf(const Volume& volume, const Volume& model) const {
    return {.merge = spec().merge,
            .merge_slices = spec().merge_slices,
            .more_below = spec().more_below,
            .volume = SizeOf(volume),
            .model = SizeOf(model)};
  }

  template <class T>
  absl::Status CopyIn(std::span<const T> from, DeviceBuffer<T>& to) {
    ISO_RETURN_IF_ERROR(to.Reserve(session_.memory(), static_cast<int64_t>(from.size())));
    return ToStatus(cudaMemcpyAsync(to.data(), from.data(), from.size_bytes(),
                                    cudaMemcpyHostToDevice, session_.stream()),
                    "cudaMemcpyAsync");
  }
  /// Room for `count` numbers that a kernel says.
  template <class T>
  absl::StatusOr<T*> Results(int count) {
    ISO_RETURN_IF_ERROR(
        results_.Reserve(session_.memory(), int64_t{count} * (sizeof(T) / sizeof(double))));
    return reinterpret_cast<T*>(results_.data());
  }
  template <class T>
  absl::StatusOr<std::vector<T>> CopyOut(const T* from, int count) {
    std::vector<T> to(count);
    ISO_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(to.data(), from, count * sizeof(T),
                                             cudaMemcpyDeviceToHost, session_.stream()));
    ISO_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(session_.stream()));
    return to;
  }

  CudaSession& session_;
  DeviceBuffer<int> first_, last_, columns_;
  DeviceBuffer<float> weights_, smoothed_weights_;  // of a model's voxels
  DeviceBuffer<float> shares_;
  DeviceBuffer<double> results_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::ConeBeamArtefact>> NewConeBeamArtefact(
    CudaSession& session, const ops::ConeBeamSpec& spec) {
  ISO_RETURN_IF_ERROR(session.MakeCurrent());
  auto made = std::make_unique<ConeBeamArtefact>(session, spec);
  ISO_RETURN_IF_ERROR(made->CopyKnownSlices());
  return made;
}

int64_t ConeBeamArtefactBytes(const ops::Extents& extents, const ops::ConeBeamSpec& spec) {
  const VolumeGrid& model = extents.grid;
  const int64_t columns = int64_t{model.nx} * model.ny, heights = spec.heights.count;
  const int64_t results = std::max({columns, 2 * heights, 2 * int64_t{model.nz}});
  return 3 * columns * int64_t{sizeof(int)} +
         (2 * model.voxels() + heights) * int64_t{sizeof(float)} +
         results * int64_t{sizeof(double)};
}

}  // namespace isocenter::cuda
