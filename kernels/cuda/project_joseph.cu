#include "kernels/cuda/backproject_common.cuh"
#include "kernels/cuda/project_joseph.cuh"

namespace isocenter::cuda {
namespace {

struct SampleLinear {
  const float* data;
  int pitch;
  int64_t plane;
  int n_b, n_c;
  template <bool kInside>
  __device__ float Sample(int k, float b, float c) const {
    if constexpr (!kInside) {
      b = fminf(fmaxf(b, -1.f), n_b);
      c = fminf(fmaxf(c, -1.f), n_c);
    }
    const float fb = Floor(b), fc = Floor(c);
    const float* const p =
        data + k * plane + (static_cast<int>(fc) + 1) * pitch + static_cast<int>(fb) + 1;
    const float p00 = __ldg(p), p01 = __ldg(p + 1), p10 = __ldg(p + pitch),
                p11 = __ldg(p + pitch + 1);
    const float low = fmaf(b - fb, p01 - p00, p00), high = fmaf(b - fb, p11 - p10, p10);
    return fmaf(c - fc, high - low, low);
  }
};

struct SampleGather {
  cudaTextureObject_t texture;
  template <bool kInside>
  __device__ float Sample(int k, float b, float c) const {
    const float fb = Floor(b), fc = Floor(c);
    float p10, p11, p01, p00;
    asm("tld4.r.a2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}];"
        : "=f"(p10), "=f"(p11), "=f"(p01), "=f"(p00)
        : "l"(texture), "r"(k), "f"(fb + 1), "f"(fc + 1));
    const float low = fmaf(b - fb, p01 - p00, p00), high = fmaf(b - fb, p11 - p10, p10);
    return fmaf(c - fc, high - low, low);
  }
};

struct SampleFiltered {
  cudaTextureObject_t texture;
  template <bool kInside>
  __device__ float Sample(int k, float b, float c) const {
    return tex2DLayered<float>(texture, b + 0.5f, c + 0.5f, k);
  }
};

// Every other plane by the load/store units, the rest by the texture unit.
struct SampleBoth {
  SampleLinear linear;
  SampleGather gather;
  template <bool kInside>
  __device__ float Sample(int k, float b, float c) const {
    return (k & 1) ? linear.Sample<kInside>(k, b, c) : gather.Sample<kInside>(k, b, c);
  }
};

template <class Sampler>
absl::Status Launch(const ProjectLaunch& l, const Sampler& sampler) {
  const dim3 grid((l.extent.columns + kRaysU - 1) / kRaysU, l.count,
                  (l.extent.rows + kRaysV - 1) / kRaysV);
  ProjectKernel<<<grid, kRayThreads, 0, l.stream>>>(l.views, l.axes, l.extent, l.run, sampler,
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
          if (kKind == 0 || kKind == 3) ISO_RETURN_IF_ERROR(linear_.Fill(source, device_.stream()));
          if (kKind != 0)
            ISO_RETURN_IF_ERROR(
                texture_.Fill(source, PlaneTexture::Texel::kFloat, 1, device_.stream()));
          return absl::OkStatus();
        },
        [this](const ProjectLaunch& l) {
          const SampleLinear linear{linear_.data(), linear_.pitch(),
                                    int64_t{linear_.pitch()} * linear_.rows(), l.extent.n_b,
                                    l.extent.n_c};
          if constexpr (kKind == 0) return Launch(l, linear);
          if constexpr (kKind == 1) return Launch(l, SampleGather{texture_.texture()});
          if constexpr (kKind == 2) return Launch(l, SampleFiltered{texture_.texture()});
          if constexpr (kKind == 3) return Launch(l, SampleBoth{linear, {texture_.texture()}});
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
