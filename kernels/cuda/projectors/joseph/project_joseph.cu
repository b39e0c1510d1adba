// Exact forward projection in Joseph's sense, from linear memory with float32 interpolation. The
// rays of a warp lie in one row of the detector: where that runs along b, as on a C-arm, what a
// warp loads lies in one or two cache lines.
#include "kernels/cuda/projectors/joseph/project_joseph.cuh"

namespace isocenter::cuda {
namespace {

constexpr int kBlockU = 32, kBlockV = 8;
constexpr int kChunk = 8;  // planes that are tested at once

// The planes of one run, LinearPlanes; b and c count from the border, -1.
struct Planes {
  const char* data;
  int64_t bytes;    // of a plane
  unsigned pitch;   // bytes
  unsigned origin;  // of offsets; see below
  float last_b, last_c;

  // Bilinear and zero outside of the volume. kInside promises that b and c lie within the borders.
  template <bool kInside>
  __device__ float Sample(int plane, float b, float c) const {
    if constexpr (!kInside) {
      b = fminf(fmaxf(b, 0.f), last_b);
      c = fminf(fmaxf(c, 0.f), last_c);
    }
    const float b_bits = __fadd_rd(b, 0x1p23f), c_bits = __fadd_rd(c, 0x1p23f);
    const unsigned offset =
        __float_as_uint(c_bits) * pitch + ((__float_as_uint(b_bits) << 2) + origin);
    // The same for all lanes; the offset is added by the load.
    const char* const low_row = data + plane * bytes;
    const char* const high_row = low_row + pitch;
    const auto load = [offset](const char* row, int next) {
      return __ldg(reinterpret_cast<const float*>(row + offset) + next);
    };
    const float p00 = load(low_row, 0), p01 = load(low_row, 1);
    const float p10 = load(high_row, 0), p11 = load(high_row, 1);
    const float in_b = b - (b_bits - 0x1p23f), in_c = c - (c_bits - 0x1p23f);
    const float low = fmaf(in_b, p01 - p00, p00), high = fmaf(in_b, p11 - p10, p10);
    return fmaf(in_c, high - low, low);
  }
};

Planes PlanesIn(const LinearPlanes& linear, const JosephExtent& e) {
  // 2^23 + n has the bits of 2^23 plus n: offsets begin with those of 2^23.
  constexpr unsigned kBits = 0x4B000000;
  const unsigned pitch = linear.pitch() * unsigned{sizeof(float)};
  return {reinterpret_cast<const char*>(linear.data()),
          int64_t{pitch} * linear.rows(),
          pitch,
          0u - (kBits * pitch + (kBits << 2)),
          e.n_b + 1.f,
          e.n_c + 1.f};
}

__global__ __launch_bounds__(kRayThreads) void ProjectKernel(
    const __grid_constant__ JosephViews views, PlaneAxes axes, JosephExtent e, PlaneRange run,
    Planes of_run, float* projections) {
  const JosephView& view = views.of[blockIdx.y];
  const int column = blockIdx.x * kBlockU + threadIdx.x % kBlockU;
  const int row = blockIdx.z * kBlockV + threadIdx.x / kBlockU;
  const float u = column - 0.5f * (e.columns - 1), v = row - 0.5f * (e.rows - 1);
  JosephRay ray{};
  PlaneRange planes{};
  if (column < e.columns && row < e.rows && IsMajor(axes, view, u, v)) {
    ray = RayOf(view, e, u, v);
    planes = PlanesOf(view, e, ray, At(view.d_major, u, v), run);
  }
  const bool crosses = planes.end > planes.first;
  if (!crosses) ray = {};  // it goes along with the others, somewhere inside
  const int first = __reduce_min_sync(kWholeWarp, crosses ? planes.first : run.end);
  const int end = __reduce_max_sync(kWholeWarp, crosses ? planes.end : run.first);
  if (first >= end) return;

  const float middle = 0.5f * (e.n_major - 1);
  ray.b += 1;
  ray.c += 1;
  float sum = 0;
  int k = first;
  const auto add_one = [&](bool counts) {
    const float b = fmaf(k - middle, ray.slope_b, ray.b), c = fmaf(k - middle, ray.slope_c, ray.c);
    const float sample = of_run.Sample<false>(k - run.first, b, c);
    if (counts) sum += sample;
  };
  if (StartsWithin(view, first, end)) {
    for (; k < end; ++k) add_one(k >= planes.first && k < planes.end);
  }
  for (; k + kChunk <= end; k += kChunk) {
    const float b = fmaf(k - middle, ray.slope_b, ray.b), c = fmaf(k - middle, ray.slope_c, ray.c);
    const float last_b = fmaf(kChunk - 1, ray.slope_b, b);
    const float last_c = fmaf(kChunk - 1, ray.slope_c, c);
    // With a margin for rounding in between.
    const bool inside = fminf(b, last_b) > 1e-3f && fmaxf(b, last_b) < of_run.last_b &&
                        fminf(c, last_c) > 1e-3f && fmaxf(c, last_c) < of_run.last_c;
    const auto add = [&](auto sample) {
#pragma unroll
      for (int i = 0; i < kChunk; ++i) {
        sum += sample(k - run.first + i, fmaf(i, ray.slope_b, b), fmaf(i, ray.slope_c, c));
      }
    };
    if (__all_sync(kWholeWarp, inside)) {
      add([&](int plane, float b, float c) { return of_run.Sample<true>(plane, b, c); });
    } else {
      add([&](int plane, float b, float c) { return of_run.Sample<false>(plane, b, c); });
    }
  }
  for (; k < end; ++k) add_one(true);
  if (!crosses) return;
  float* const pixel = PixelOf(projections, views.index[blockIdx.y], e, row, column);
  *pixel = fmaf(sum, ray.length, *pixel);
}

class ProjectJoseph final : public ops::ForwardProject {
 public:
  explicit ProjectJoseph(CudaSession& session) : session_(session) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> world, const ops::VolumeBuffer& volume,
                     ops::ProjectionStack& projections) override {
    return RunJoseph(*this, session_, world, volume, projections);
  }

  // For RunJoseph.
  static ViewKind KindOf(const ProjectionMatrix&, const PlaneAxes&, const VolumeGrid&, Shape3) {
    return {};
  }
  static int64_t PlaneBytes(int, int n_b, int n_c) { return LinearPlanes::Bytes(n_b, n_c); }
  absl::Status Fill(int, const PlaneSource& source) { return planes_.Fill(source, session_); }
  absl::Status Launch(const ProjectLaunch& launch) {
    ProjectKernel<<<RayBlocks(launch, kBlockU, kBlockV), kRayThreads, 0, session_.stream()>>>(
        launch.views, launch.axes, launch.extent, launch.run, PlanesIn(planes_, launch.extent),
        launch.projections);
    return ToStatus(cudaGetLastError(), "ProjectKernel");
  }

 private:
  CudaSession& session_;
  LinearPlanes planes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectJoseph(CudaSession& session) {
  return std::make_unique<ProjectJoseph>(session);
}

int64_t ProjectJosephBytes(const ops::Extents& extents) {
  return RunBytes(extents.grid,
                  [](int n_b, int n_c) { return ProjectJoseph::PlaneBytes(0, n_b, n_c); });
}

}  // namespace isocenter::cuda
