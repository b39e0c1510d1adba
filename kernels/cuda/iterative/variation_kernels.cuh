// Kernels of Variation. A thread walks along z through a run of voxels of one column and keeps what
// the next voxel needs of this one; what memory brings is then about what is read once.
#pragma once

#include <cstdint>

#include "kernels/cuda/device/block_sum.cuh"

namespace isocenter::cuda {

inline constexpr int kVariationX = 32, kVariationY = 8, kVariationRun = 16;
static_assert(kVariationX * kVariationY == kSumThreads);

/// A volume, or a slab of one with the slices next to it; null: there is none.
struct Slab {
  const float *f, *below, *above;
  int nx, ny, nz;

  __host__ __device__ int64_t plane() const { return static_cast<int64_t>(nx) * ny; }
  /// Tiles that the kernels below take it apart into.
  __host__ __device__ int64_t tiles() const {
    const auto count = [](int n, int size) { return static_cast<int64_t>((n + size - 1) / size); };
    return count(nx, kVariationX) * count(ny, kVariationY) * count(nz, kVariationRun);
  }
};

/// g_x, g_y, g_z of ops::Variation.
struct Scales {
  float x, y, z;
};

/// One thread's column, and how differences are taken in it.
struct Column {
  const Slab& s;
  int x, y, first, end;  // slices
  int64_t at;            // in a slice

  __device__ Column(const Slab& slab, int64_t tile) : s(slab) {
    const int across = (s.nx + kVariationX - 1) / kVariationX;
    const int down = (s.ny + kVariationY - 1) / kVariationY;
    x = static_cast<int>(tile % across) * kVariationX + threadIdx.x % kVariationX;
    y = static_cast<int>(tile / across % down) * kVariationY + threadIdx.x / kVariationX;
    first = static_cast<int>(tile / across / down) * kVariationRun;
    end = x < s.nx && y < s.ny ? min(first + kVariationRun, s.nz) : first;
    at = static_cast<int64_t>(y) * s.nx + x;
  }
  /// Slice z, -1 <= z <= nz; null beyond the volume.
  __device__ const float* Slice(int z) const {
    if (z < 0) return s.below;
    if (z >= s.nz) return s.above;
    return s.f + z * (static_cast<int64_t>(s.nx) * s.ny);
  }
  /// Differences towards larger indices, zero at the volume's ends.
  __device__ float AlongX(const float* slice) const {
    return x + 1 < s.nx ? slice[at + 1] - slice[at] : 0;
  }
  __device__ float AlongY(const float* slice) const {
    return y + 1 < s.ny ? slice[at + s.nx] - slice[at] : 0;
  }
  __device__ float AlongZ(const float* slice, const float* next) const {
    return next != nullptr ? next[at] - slice[at] : 0;
  }
};

/// body(offset of the voxel, differences along x, y, z) for each voxel. The sum of what it returns
/// goes to `partial`, unless that is null.
template <class Body>
__global__ __launch_bounds__(kSumThreads) void DifferencesKernel(Slab s, Body body,
                                                                 double* partial) {
  double sum = 0;
  for (int64_t tile = blockIdx.x; tile < s.tiles(); tile += gridDim.x) {
    const Column c(s, tile);
    const float* slice = c.Slice(c.first);
#pragma unroll 4
    for (int z = c.first; z < c.end; ++z) {
      const float* const next = c.Slice(z + 1);
      sum += body(z * s.plane() + c.at, c.AlongX(slice), c.AlongY(slice), c.AlongZ(slice, next));
      slice = next;
    }
  }
  if (partial == nullptr) return;
  sum = BlockSum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

struct TotalVariationBody {
  Scales g;
  float epsilon;
  __device__ double operator()(int64_t, float x, float y, float z) const {
    x *= g.x, y *= g.y, z *= g.z;
    const float square = fmaf(x, x, fmaf(y, y, z * z));
    if (square == 0) return 0;
    // sqrt(square + epsilon²) - epsilon where that would cancel.
    return square / (sqrtf(fmaf(epsilon, epsilon, square)) + epsilon);
  }
};

struct HuberBody {
  Scales g;
  float delta;
  __device__ double operator()(int64_t, float x, float y, float z) const {
    const auto cost = [&](float t) {
      const float size = fabsf(t);
      return size <= delta ? t * t / 2 : delta * (size - delta / 2);
    };
    return fmaf(g.x * g.x, cost(x), fmaf(g.y * g.y, cost(y), g.z * g.z * cost(z)));
  }
};

struct AscendDualBody {
  Scales g;
  float step, bound;
  float *px, *py, *pz;
  __device__ double operator()(int64_t at, float x, float y, float z) const {
    x = fmaf(step * g.x, x, px[at]);
    y = fmaf(step * g.y, y, py[at]);
    z = fmaf(step * g.z, z, pz[at]);
    const float shrink = fminf(1, bound * rsqrtf(fmaf(x, x, fmaf(y, y, z * z))));
    px[at] = x * shrink;
    py[at] = y * shrink;
    pz[at] = z * shrink;
    return 0;
  }
};

/// gradient += strength · ∂/∂f of the total variation. The derivative at j has four parts: the
/// voxel's own length of the gradient, and those of the voxels before it along each axis.
__global__ __launch_bounds__(kSumThreads) inline void TotalVariationGradientKernel(
    Slab s, Scales g, float epsilon_squared, float strength, float* gradient) {
  const Column c(s, blockIdx.x);
  if (c.first >= c.end) return;
  const int64_t at = c.at;
  const auto inverse_length = [&](float x, float y, float z) {
    return rsqrtf(fmaf(x, x, fmaf(y, y, fmaf(z, z, epsilon_squared))));
  };
  const float* slice = c.Slice(c.first);
  float from_below = 0;  // the part of the voxel before along z
  if (const float* const before = c.Slice(c.first - 1); before != nullptr) {
    const float z = g.z * (slice[at] - before[at]);
    from_below = g.z * z * inverse_length(g.x * c.AlongX(before), g.y * c.AlongY(before), z);
  }
  for (int z = c.first; z < c.end; ++z) {
    const float* const next = c.Slice(z + 1);
    const float here = slice[at];
    const float dx = g.x * c.AlongX(slice), dy = g.y * c.AlongY(slice);
    const float dz = g.z * c.AlongZ(slice, next);
    const float inverse = inverse_length(dx, dy, dz);
    float sum = fmaf(-inverse, fmaf(g.x, dx, fmaf(g.y, dy, g.z * dz)), from_below);
    from_below = g.z * dz * inverse;
    if (c.x > 0) {
      const float left = slice[at - 1], x = g.x * (here - left);
      const float y = c.y + 1 < s.ny ? g.y * (slice[at - 1 + s.nx] - left) : 0;
      const float up = next != nullptr ? g.z * (next[at - 1] - left) : 0;
      sum = fmaf(g.x * x, inverse_length(x, y, up), sum);
    }
    if (c.y > 0) {
      const float front = slice[at - s.nx], y = g.y * (here - front);
      const float x = c.x + 1 < s.nx ? g.x * (slice[at - s.nx + 1] - front) : 0;
      const float up = next != nullptr ? g.z * (next[at - s.nx] - front) : 0;
      sum = fmaf(g.y * y, inverse_length(x, y, up), sum);
    }
    float* const to = gradient + z * s.plane() + at;
    *to = fmaf(strength, sum, *to);
    slice = next;
  }
}

/// gradient += strength · ∂/∂f of Huber's penalty.
__global__ __launch_bounds__(kSumThreads) inline void HuberGradientKernel(Slab s, Scales g,
                                                                          float delta,
                                                                          float strength,
                                                                          float* gradient) {
  const Column c(s, blockIdx.x);
  if (c.first >= c.end) return;
  const int64_t at = c.at;
  const auto slope = [&](float t) { return fminf(fmaxf(t, -delta), delta); };
  const float* slice = c.Slice(c.first);
  const float* const before = c.Slice(c.first - 1);
  float from_below = before != nullptr ? slope(slice[at] - before[at]) : 0;
#pragma unroll 4
  for (int z = c.first; z < c.end; ++z) {
    const float* const next = c.Slice(z + 1);
    const float here = slice[at], to_above = slope(c.AlongZ(slice, next));
    const float left = c.x > 0 ? slope(here - slice[at - 1]) : 0;
    const float front = c.y > 0 ? slope(here - slice[at - s.nx]) : 0;
    const float sum =
        fmaf(g.x * g.x, left - slope(c.AlongX(slice)),
             fmaf(g.y * g.y, front - slope(c.AlongY(slice)), g.z * g.z * (from_below - to_above)));
    float* const to = gradient + z * s.plane() + at;
    *to = fmaf(strength, sum, *to);
    from_below = to_above;
    slice = next;
  }
}

/// f += step · div p; the slab is that of p.z.
__global__ __launch_bounds__(kSumThreads) inline void DivergenceKernel(Slab s, Scales g, float step,
                                                                       const float* px,
                                                                       const float* py, float* f) {
  const Column c(s, blockIdx.x);
  if (c.first >= c.end) return;
  const float* const before = c.Slice(c.first - 1);
  float from_below = before != nullptr ? before[c.at] : 0;
#pragma unroll 4
  for (int z = c.first; z < c.end; ++z) {
    const int64_t at = z * s.plane() + c.at;
    const float x = px[at] - (c.x > 0 ? px[at - 1] : 0);
    const float y = py[at] - (c.y > 0 ? py[at - s.nx] : 0);
    const float pz = s.f[at];
    f[at] = fmaf(step, fmaf(g.x, x, fmaf(g.y, y, g.z * (pz - from_below))), f[at]);
    from_below = pz;
  }
}

}  // namespace isocenter::cuda
