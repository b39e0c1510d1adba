// Fast forward projection in Joseph's sense. The planes are half floats in a layered texture, four
// rows of voxels to a texel, which the texture unit interpolates along b at the rate of one. The
// rays of neighbouring pixels of a detector column, which run along c, cross a plane at nearly the
// same b, so that one fetch serves several of them: between rows they are interpolated here, in
// float32. Voxels are held as float16 up to 1023 in magnitude (half_pixels.h), in 1/mm far more
// than there is.
#include "kernels/cuda/device/half_pixels.h"
#include "kernels/cuda/projectors/joseph/project_joseph.cuh"

namespace isocenter::cuda {
namespace {

constexpr int kGroupsU = 32, kGroupsV = 8;  // of a block
constexpr int kChunk = 4;                   // planes over which rays keep their distance
// How far along b, in voxels, a ray may be from where its group is sampled. The texture unit's
// weights are off by up to 1/512 besides; together they stay near 1/256.
constexpr float kMostDrift = 0.003f;

// Rows between texels, and rays of a thread.
template <int kStepRows, int kRays>
struct Grouping {
  static constexpr int kStep = kStepRows, kGroup = kRays;
  // The first ray lies less than kStep rows above a texel's first row, the last one at most kSpan
  // rows further.
  static constexpr float kSpan = 3 - kStep;
  static constexpr float kLongestStep = kGroup > 1 ? kSpan / (kGroup - 1) : kSpan;
  /// Pairs of rows between which ray i may lie.
  static __host__ __device__ constexpr int PairsOf(int i) {
    int pairs = kStep;
    while (pairs < 3 && kStep + i * kLongestStep > pairs) ++pairs;
    return pairs;
  }
};

__device__ inline int2 GroupOfThread() {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  return make_int2(warp % 4 * 8 + ((lane & 1) | (lane >> 1 & 2) | (lane >> 2 & 4)),
                   warp / 4 * 4 + ((lane >> 1 & 1) | (lane >> 2 & 2)));
}

template <class G>
__global__ __launch_bounds__(kRayThreads) void RowsKernel(const __grid_constant__ JosephViews views,
                                                          PlaneAxes axes, JosephExtent e,
                                                          PlaneRange run,
                                                          cudaTextureObject_t texture,
                                                          float* projections) {
  constexpr int kGroup = G::kGroup;
  const JosephView& view = views.of[blockIdx.y];
  const int2 own = GroupOfThread();
  const int column = blockIdx.x * kGroupsU + own.x;
  const int first_row = (blockIdx.z * kGroupsV + own.y) * kGroup;
  const float u = column - 0.5f * (e.columns - 1), middle_row = 0.5f * (e.rows - 1);
  const float middle = 0.5f * (e.n_major - 1);

  // From the ray of the least c on: how fast c grows from the source on, in steps away from it.
  const auto ahead = [&](int row) {
    return At(view.d_c, u, row - middle_row) / fabsf(At(view.d_major, u, row - middle_row));
  };
  const bool turned = ahead(first_row) > ahead(first_row + 1);
  const auto row_of = [&](int i) { return first_row + (turned ? kGroup - 1 - i : i); };
  JosephRay rays[kGroup];
  PlaneRange planes[kGroup];
  int first = run.end, end = run.first;  // of all rays of the group
#pragma unroll
  for (int i = 0; i < kGroup; ++i) {
    const float v = row_of(i) - middle_row;
    rays[i] = RayOf(view, e, u, v);
    planes[i] = {0, 0};
    if (column < e.columns && row_of(i) < e.rows && IsMajor(axes, view, u, v)) {
      planes[i] = PlanesOf(view, e, rays[i], At(view.d_major, u, v), run);
    }
    if (planes[i].first >= planes[i].end) continue;
    first = min(first, planes[i].first);
    end = max(end, planes[i].end);
  }
  const bool crosses = end > first;
  bool together = true;  // the group is sampled at once
  if (crosses) {
    for (const float k : {first - middle, end - 1 - middle}) {
      const auto b = [&](int i) { return fmaf(k, rays[i].slope_b, rays[i].b); };
      const auto c = [&](int i) { return fmaf(k, rays[i].slope_c, rays[i].c); };
      together = together && fabsf(b(kGroup - 1) - b(0)) <= 2 * kMostDrift;
#pragma unroll
      for (int i = 1; i < kGroup; ++i) {
        const float step = c(i) - c(i - 1);
        together = together && step >= 0 && step < G::kLongestStep;
      }
    }
  }
  first = __reduce_min_sync(kWholeWarp, first);
  end = __reduce_max_sync(kWholeWarp, end);
  if (first >= end) return;
  // Behind the source rays count no more: each has its own range.
  together = __all_sync(kWholeWarp, together) && !StartsWithin(view, first, end);

  // Texel j is centred at j + 0.5 and begins with row kStep j - kRowsBefore: r counts texels from
  // there.
  constexpr float kPerRow = 1.f / G::kStep;
  constexpr float kOrigin = RowsTexture::kRowsBefore * kPerRow + 0.5f;
  const auto centre = [](float r) { return __fadd_rd(r, 0x1p23f - 0.5f) - (0x1p23f - 0.5f); };
  float sums[kGroup] = {};
  if (together) {
    const float b0 = 0.5f * (rays[0].b + rays[kGroup - 1].b) + 0.5f;
    const float slope_b = 0.5f * (rays[0].slope_b + rays[kGroup - 1].slope_b);
    const float r0 = fmaf(rays[0].c, kPerRow, kOrigin), slope_r = rays[0].slope_c * kPerRow;
    float base = 0;
    const auto add = [&](int k, int count) {
      const float at = k - middle;
      const float b = fmaf(at, slope_b, b0), r = fmaf(at, slope_r, r0);
      float beyond[kGroup];  // rows from the first ray to ray i
#pragma unroll
      for (int i = 1; i < kGroup; ++i) {
        beyond[i] = fmaf(at + 0.5f * (kChunk - 1), rays[i].slope_c - rays[0].slope_c,
                         rays[i].c - rays[0].c);
      }
#pragma unroll
      for (int j = 0; j < kChunk; ++j) {
        if (j >= count) break;
        const float r_first = fmaf(j, slope_r, r), texel = centre(r_first);
        const float4 rows =
            tex2DLayered<float4>(texture, fmaf(j, slope_b, b), texel, k - run.first + j);
        const float d = G::kStep == 1 ? r_first - texel : G::kStep * (r_first - texel);
        const float differences[] = {rows.y - rows.x, rows.z - rows.y, rows.w - rows.z};
        base += rows.x;
        if constexpr (G::kStep == 1) {
          sums[0] = fmaf(d, differences[0], sums[0]);
        } else {
          sums[0] = fmaf(__saturatef(d), differences[0], sums[0]);
          sums[0] = fmaf(__saturatef(d - 1), differences[1], sums[0]);
        }
#pragma unroll
        for (int i = 1; i < kGroup; ++i) {
#pragma unroll
          for (int pair = 0; pair < G::PairsOf(i); ++pair) {
            sums[i] = fmaf(__saturatef(d + (beyond[i] - pair)), differences[pair], sums[i]);
          }
        }
      }
    };
    int k = first;
    for (; k + kChunk <= end; k += kChunk) add(k, kChunk);
    if (k < end) add(k, end - k);
#pragma unroll
    for (int i = 0; i < kGroup; ++i) sums[i] += base;
  } else {
#pragma unroll
    for (int i = 0; i < kGroup; ++i) {
#pragma unroll 2
      for (int k = first; k < end; ++k) {
        const float at = k - middle;
        const float r = fmaf(fmaf(at, rays[i].slope_c, rays[i].c), kPerRow, kOrigin);
        const float texel = centre(r), d = G::kStep * (r - texel);
        const float4 rows = tex2DLayered<float4>(
            texture, fmaf(at, rays[i].slope_b, rays[i].b) + 0.5f, texel, k - run.first);
        float sample = fmaf(__saturatef(d), rows.y - rows.x, rows.x);
        if (G::kStep > 1) sample = fmaf(__saturatef(d - 1), rows.z - rows.y, sample);
        if (k >= planes[i].first && k < planes[i].end) sums[i] += sample;
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kGroup; ++i) {
    if (planes[i].first >= planes[i].end) continue;
    float* const pixel = PixelOf(projections, views.index[blockIdx.y], e, row_of(i), column);
    *pixel = fmaf(sums[i], rays[i].length * (1 / kHalfScale), *pixel);
  }
}

// From the kernel of most rays per fetch on.
using Five = Grouping<1, 5>;
using Four = Grouping<1, 4>;
using Two = Grouping<1, 2>;
using TwoByTwo = Grouping<2, 2>;  // its copy is half as large

class ProjectJosephRows final : public ops::ForwardProject {
 public:
  explicit ProjectJosephRows(CudaSession& session) : session_(session) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> world, const ops::VolumeBuffer& volume,
                     ops::ProjectionStack& projections) override {
    return RunJoseph(*this, session_, world, volume, projections);
  }

  // For RunJoseph. A copy is known by its step, a kernel by the rays of a group.
  static ViewKind KindOf(const ProjectionMatrix& world, const PlaneAxes& axes,
                         const VolumeGrid& grid, Shape3 stack) {
    const RaySteps steps = StepsAlongColumn(world, axes, grid, stack);
    if (Fits<Five>(steps)) return {1, 5};
    if (Fits<Four>(steps)) return {1, 4};
    if (!Fits<TwoByTwo>(steps) && Fits<Two>(steps)) return {1, 2};
    return {2, 2};
  }
  static int64_t PlaneBytes(int step, int n_b, int n_c) {
    return RowsTexture::Bytes(n_b, n_c, step);
  }
  absl::Status Fill(int step, const PlaneSource& source) {
    return textures_[step - 1].Fill(source, step, session_);
  }
  absl::Status Launch(const ProjectLaunch& launch) {
    if (launch.kind.copy == 2) return Start<TwoByTwo>(launch);
    return launch.kind.kernel == 5   ? Start<Five>(launch)
           : launch.kind.kernel == 4 ? Start<Four>(launch)
                                     : Start<Two>(launch);
  }

 private:
  // Nearly everywhere; where not, the kernel finds out.
  template <class G>
  static bool Fits(const RaySteps& steps) {
    constexpr double kTolerance = 1.02;
    return steps.c < kTolerance * G::kLongestStep &&
           steps.b * (G::kGroup - 1) < kTolerance * 2 * kMostDrift;
  }
  template <class G>
  absl::Status Start(const ProjectLaunch& launch) {
    const dim3 blocks = RayBlocks(launch, kGroupsU, kGroupsV * G::kGroup);
    RowsKernel<G><<<blocks, kRayThreads, 0, session_.stream()>>>(
        launch.views, launch.axes, launch.extent, launch.run, textures_[G::kStep - 1].texture(),
        launch.projections);
    return ToStatus(cudaGetLastError(), "RowsKernel");
  }

  CudaSession& session_;
  RowsTexture textures_[2];
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectJosephRows(CudaSession& session) {
  return std::make_unique<ProjectJosephRows>(session);
}

int64_t ProjectJosephRowsBytes(const ops::Extents& extents) {
  int64_t bytes = 0;  // a Run may need both copies
  for (const int step : {1, 2}) {
    bytes += RunBytes(extents.grid, [step](int n_b, int n_c) {
      return ProjectJosephRows::PlaneBytes(step, n_b, n_c);
    });
  }
  return bytes;
}

}  // namespace isocenter::cuda
