#include "kernels/cuda/backproject_common.cuh"
#include "kernels/cuda/project_joseph.cuh"

namespace isocenter::cuda {
namespace {

struct SampleLinear {
  static constexpr float kOrigin = 1;
  const float* data;
  unsigned pitch;
  int64_t plane;
  float last_b, last_c;
  template <bool kInside>
  __device__ float Sample(int k, float b, float c) const {
    if constexpr (!kInside) {
      b = fminf(fmaxf(b, 0.f), last_b);
      c = fminf(fmaxf(c, 0.f), last_c);
    }
    // 2^23 + n has the bits of 2^23 plus n.
    constexpr unsigned kBits = 0x4B000000;
    const float b_bits = __fadd_rd(b, 0x1p23f), c_bits = __fadd_rd(c, 0x1p23f);
    const unsigned offset = __float_as_uint(c_bits) * pitch + (__float_as_uint(b_bits) - kBits * (pitch + 1));
    const float* const p = data + k * plane + offset;
    const float in_b = b - (b_bits - 0x1p23f), in_c = c - (c_bits - 0x1p23f);
    const float p00 = __ldg(p), p01 = __ldg(p + 1), p10 = __ldg(p + pitch), p11 = __ldg(p + pitch + 1);
    const float low = fmaf(in_b, p01 - p00, p00), high = fmaf(in_b, p11 - p10, p10);
    return fmaf(in_c, high - low, low);
  }
};

struct SampleFiltered {
  static constexpr float kOrigin = 0.5f;
  cudaTextureObject_t texture;
  template <bool kInside>
  __device__ float Sample(int k, float b, float c) const {
    return tex2DLayered<float>(texture, b, c, k);
  }
};

template <int kWarpU, class Sampler>
absl::Status Launch(const ProjectLaunch& l, const Sampler& sampler) {
  constexpr int kU = kWarpU * (kWarpU == 32 ? 1 : 2), kV = kRayThreads / kU;
  const dim3 grid((l.extent.columns + kU - 1) / kU, l.count, (l.extent.rows + kV - 1) / kV);
  ProjectKernel<kWarpU><<<grid, kRayThreads, 0, l.stream>>>(l.views, l.axes, l.extent, l.run, sampler,
                                                    l.projections);
  return ToStatus(cudaGetLastError(), "ProjectKernel");
}

template <int kKind>
class ProjectJoseph final : public ops::ForwardProject {
 public:
  explicit ProjectJoseph(CudaDevice& device) : device_(device) {}

  absl::Status Run(std::span<const ProjectionMatrix> world, const ops::VolumeBuffer& volume,
                   ops::ProjectionStack& projections) override {
    return RunJoseph(
        device_, world, volume, projections,
        [](const JosephExtent& e) {
          const char* band = getenv("JOSEPH_BAND");
          return band != nullptr ? atoi(band) : 1024;
        },
        [this](const PlaneSource& source) -> absl::Status {
          if (kKind != 2) ISO_RETURN_IF_ERROR(linear_.Fill(source, device_.stream()));
          if (kKind == 2)
            ISO_RETURN_IF_ERROR(
                texture_.Fill(source, PlaneTexture::Texel::kFloat, 1, device_.stream()));
          return absl::OkStatus();
        },
        [this](const ProjectLaunch& l) {
          const SampleLinear linear{linear_.data(), static_cast<unsigned>(linear_.pitch()),
                                    int64_t{linear_.pitch()} * linear_.rows(), l.extent.n_b + 1.f,
                                    l.extent.n_c + 1.f};
          if constexpr (kKind == 0) return Launch<32>(l, linear);
          if constexpr (kKind == 1) return Launch<8>(l, linear);
          if constexpr (kKind == 2) return Launch<8>(l, SampleFiltered{texture_.texture()});
          if constexpr (kKind == 3) return Launch<16>(l, linear);
        });
  }
  int64_t WorkspaceBytes(const VolumeGrid& grid, Shape3) const override {
    return grid.voxels() * 4;
  }

 private:
  CudaDevice& device_;
  LinearPlanes linear_;
  PlaneTexture texture_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectJoseph(CudaDevice& device) {
  return std::make_unique<ProjectJoseph<0>>(device);
}
absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectJosephGather(CudaDevice& device) {
  return std::make_unique<ProjectJoseph<1>>(device);
}
absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectJosephTexture(CudaDevice& device) {
  return std::make_unique<ProjectJoseph<2>>(device);
}
absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectJosephBoth(CudaDevice& device) {
  return std::make_unique<ProjectJoseph<3>>(device);
}

}  // namespace isocenter::cuda
