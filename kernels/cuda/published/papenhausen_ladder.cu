// The steps of Papenhausen, Zheng & Mueller, "GPU-Accelerated Back-Projection Revisited: Squeezing
// Performance by Careful Tuning" (HPIR 2011); Papenhausen & Mueller, MIC-GPU, SPIE Medical Imaging
// (2012), from their naive kernel to their optimised one, each of them on or off. In all of them a
// thread walks along z through its share of the slices: blocks of two layers halve them, of four
// quarter them. Whether the result is page-locked is a matter of the transfer.
#include <cuda_pipeline_primitives.h>

#include "kernels/cuda/device/on_cuda.h"
#include "kernels/cuda/published/backproject_from_texture.cuh"

namespace isocenter::cuda {
namespace {

// What a step has that the naive kernel has not.
enum Part : unsigned {
  kNaive = 0,
  kTexture = 1,    // samples by the texture unit; else four pixels from global memory
  kConstant = 2,   // matrices by kernel parameter, in constant memory; else in global memory
  kPrefetch = 4,   // the voxel of the next slice comes into shared memory meanwhile
  kUnrolled = 8,   // the loop over slices, by four
  kFastMath = 16,  // the approximate reciprocal; else the rounded one
};

template <int kViews, unsigned kParts>
struct Pixels {
  const float* linear;  // [view][v][u]
  cudaTextureObject_t texture;
  Extent extent;

  __device__ float At(int view, float u, float v) const {
    if constexpr ((kParts & kTexture) != 0) {
      return tex2DLayered<float>(texture, u + 0.5f, v + 0.5f, view);
    }
    const int64_t size = static_cast<int64_t>(extent.rows) * extent.columns;
    return SampleAnywhere(linear + view * size, extent, u, v);
  }
};

// What the views of a launch see of a voxel. It is added up one by one, so that sums do not depend
// on how views are divided between launches.
template <int kViews, unsigned kParts>
struct Seen {
  float weight[kViews], sample[kViews];

  __device__ Seen(const float* matrices, const Pixels<kViews, kParts>& pixels, int x, int y,
                  int z) {
#pragma unroll
    for (int i = 0; i < kViews; ++i) {
      const Homogeneous q = PositionOf(matrices + 12 * i, x, y, z);
      const float r = (kParts & kFastMath) != 0 ? Reciprocal(q.w) : __frcp_rn(q.w);
      weight[i] = r * r;
      sample[i] = pixels.At(i, __fmul_rn(q.uw, r), __fmul_rn(q.vw, r));
    }
  }
  __device__ float AddedTo(float sum) const {
#pragma unroll
    for (int i = 0; i < kViews; ++i) sum = fmaf(weight[i], sample[i], sum);
    return sum;
  }
};

template <int kViews, unsigned kParts>
__global__ __launch_bounds__(1024) void LadderKernel(
    const __grid_constant__ ViewMatrices<kViews> constant, const float* stored,
    Pixels<kViews, kParts> pixels, float* volume) {
  const Extent& e = pixels.extent;
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const int share = (e.nz + blockDim.z - 1) / blockDim.z;
  const int begin = threadIdx.z * share, end = min(begin + share, e.nz);
  if (x >= e.nx || y >= e.ny || begin >= end) return;
  const float* const matrices = (kParts & kConstant) != 0 ? &constant.m[0][0] : stored;
  const int64_t slice = OffsetOf(e, 0, 0, 1);
  float* const column = volume + OffsetOf(e, x, y, 0);
  if constexpr ((kParts & kPrefetch) == 0) {
#pragma unroll(kParts& kUnrolled ? 4 : 1)
    for (int z = begin; z < end; ++z) {
      float* const target = column + z * slice;
      *target = Seen<kViews, kParts>(matrices, pixels, x, y, z).AddedTo(*target);
    }
  } else {
    // Of every thread: the voxel that it works on and the one that is on its way. No thread reads
    // another's, so nothing has to be synchronised.
    extern __shared__ float ahead[];
    const int threads = blockDim.x * blockDim.y * blockDim.z;
    float* const own = ahead + (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    __pipeline_memcpy_async(own, column + begin * slice, sizeof(float));
    __pipeline_commit();
#pragma unroll(kParts& kUnrolled ? 4 : 1)
    for (int z = begin; z < end; ++z) {
      float* const target = column + z * slice;
      const int now = (z - begin) & 1;
      if (z + 1 < end) {
        __pipeline_memcpy_async(own + (now ^ 1) * threads, target + slice, sizeof(float));
      }
      __pipeline_commit();  // an empty one at the end, so that there is always one to leave open
      const Seen<kViews, kParts> seen(matrices, pixels, x, y, z);
      __pipeline_wait_prior(1);
      *target = seen.AddedTo(own[now * threads]);
    }
  }
}

template <int kViews, unsigned kParts>
class BackprojectLadder final : public ops::Backproject {
 public:
  BackprojectLadder(CudaSession& session, dim3 block) : session_(session), block_(block) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> matrices,
                     const ops::ProjectionStack& filtered, ops::VolumeBuffer& volume) override {
    return RunInBatches<kViews>(session_, matrices, filtered, volume,
                                [this](const Batch<kViews>& batch) { return Launch(batch); });
  }

  static int64_t Bytes(const ops::Extents& extents) {
    const Shape3& stack = extents.stack;
    const int64_t texture =
        LayeredTexture::Bytes(std::min<int64_t>(stack.slow, kViews), stack.middle, stack.fast);
    return ((kParts & kTexture) != 0 ? texture : 0) +
           ((kParts & kConstant) != 0 ? 0 : int64_t{sizeof(ViewMatrices<kViews>)});
  }

 private:
  absl::Status Launch(const Batch<kViews>& batch) {
    const Extent& e = batch.extent;
    if constexpr ((kParts & kTexture) != 0) {
      ISO_RETURN_IF_ERROR(
          texture_.Fill(batch.projections, batch.views, e.rows, e.columns, session_));
    }
    if constexpr ((kParts & kConstant) == 0) {
      ISO_RETURN_IF_ERROR(stored_.Reserve(session_.memory(), kViews * 12));
      ISO_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(stored_.data(), &batch.matrices.m[0][0],
                                               stored_.bytes(), cudaMemcpyHostToDevice,
                                               batch.stream));
    }
    const dim3 blocks = BlocksCovering(e, dim3(block_.x, block_.y, e.nz));
    const unsigned threads = block_.x * block_.y * block_.z;
    const size_t shared = (kParts & kPrefetch) != 0 ? 2 * threads * sizeof(float) : 0;
    const Pixels<kViews, kParts> pixels{batch.projections,
                                        (kParts & kTexture) != 0 ? texture_.texture() : 0, e};
    LadderKernel<kViews, kParts><<<blocks, block_, shared, batch.stream>>>(
        batch.matrices, stored_.data(), pixels, batch.volume);
    return absl::OkStatus();
  }

  CudaSession& session_;
  const dim3 block_;
  LayeredTexture texture_;
  DeviceBuffer<float> stored_;
};

template <int kViews, unsigned kParts>
void Add(ops::Registry& registry, std::string name, dim3 block = dim3(16, 16, 4)) {
  using Step = BackprojectLadder<kViews, kParts>;
  const auto make =
      [block](CudaSession& session) -> absl::StatusOr<std::unique_ptr<ops::Backproject>> {
    return std::make_unique<Step>(session, block);
  };
  registry.backproject.Add(
      "cuda", std::move(name), {OnCuda(make), Taking(Step::Bytes)},
      (kParts & kTexture) != 0 ? ops::Precision::kFast : ops::Precision::kExact);
}

}  // namespace

void RegisterPapenhausenLadder(ops::Registry& registry) {
  Add<1, kNaive>(registry, "ladder_naive", dim3(16, 16, 2));
  Add<1, kNaive>(registry, "ladder_blocks");
  // Other shapes of as many threads: flat, and along x alone.
  Add<1, kNaive>(registry, "ladder_blocks_32x8x4", dim3(32, 8, 4));
  Add<1, kNaive>(registry, "ladder_blocks_64x4x4", dim3(64, 4, 4));
  Add<1, kNaive>(registry, "ladder_blocks_8x8x16", dim3(8, 8, 16));
  Add<1, kTexture>(registry, "ladder_texture");
  constexpr unsigned kAsic = kTexture | kConstant;
  Add<1, kAsic>(registry, "ladder_constant");
  Add<2, kAsic>(registry, "ladder_views_2");
  Add<3, kAsic>(registry, "ladder_views_3");
  Add<4, kAsic>(registry, "ladder_views_4");
  Add<5, kAsic>(registry, "ladder_views_5");
  Add<6, kAsic>(registry, "ladder_views_6");
  Add<7, kAsic>(registry, "ladder_views_7");
  Add<8, kAsic>(registry, "ladder_views_8");
  constexpr unsigned kFull = kAsic | kPrefetch;
  Add<4, kFull>(registry, "ladder_prefetch");
  Add<4, kFull | kUnrolled>(registry, "ladder_unrolled");
  Add<4, kFull | kFastMath>(registry, "ladder_fast_math");
}

}  // namespace isocenter::cuda
