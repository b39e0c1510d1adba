// Fan-beam back-projection: a thread has a pixel of one slice and goes over the views.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/cuda/device/layered_array.h"
#include "kernels/cuda/fanbeam/methods.h"
#include "kernels/cuda/fanbeam/row_sources.cuh"
#include "kernels/cuda/fanbeam/view_tables.h"

namespace isocenter::cuda {

/// kTangent: none, rows are at equal steps of the tangent.
enum class FanAngles { kLibrary, kPolynomial, kTangent };
/// What the compiler was told of the file that a kernel is made in: the linker takes kernels of one
/// name for the same.
enum class FanMath { kExact, kFast };

// Rows of a stack in memory: linear between channels, zero beside them.
struct FanRowsInMemory {
  const float* rows;  // [view][slice][channel]
  int slices, channels;

  template <class T>
  __device__ T At(int view, int slice, T position) const {
    const T whole = floor(position);
    if (!(whole >= -1 && whole < channels)) return 0;
    const int c = static_cast<int>(whole);
    const float* row = rows + (static_cast<int64_t>(view) * slices + slice) * channels;
    const T low = c >= 0 ? row[c] : 0, high = c + 1 < channels ? row[c + 1] : 0;
    return low + (position - whole) * (high - low);
  }
};

// Rows in a texture, whose unit interpolates with weights of 8 bits.
struct FanRowsInTexture {
  cudaTextureObject_t texture;
  int slices;

  template <class T>
  __device__ T At(int view, int slice, T position) const {
    return tex2DLayered<float>(texture, position + 0.5f, view * slices + slice + 0.5f, 0);
  }
};

/// By the arctangent's polynomial.
template <class T>
__device__ T PolynomialPosition(const FanScan<T>& scan, T ratio) {
  const T square = ratio * ratio;
  T sum = scan.coefficients[kFanTerms - 1];
#pragma unroll
  for (int i = kFanTerms - 2; i >= 0; --i) sum = fma(sum, square, scan.coefficients[i]);
  return fma(ratio, sum, scan.center);
}

template <class T, FanAngles kAngles>
__device__ T FanPosition(const FanScan<T>& scan, T ratio) {
  if (kAngles == FanAngles::kTangent || scan.flat) return scan.center + ratio * scan.per_radian;
  if (kAngles == FanAngles::kLibrary || !scan.polynomial) {
    return scan.center + atan(ratio) * scan.per_radian;
  }
  return PolynomialPosition(scan, ratio);
}

struct FanImage {
  float* voxels;  // [z][y][x]
  int nx, ny;
};

template <class T, FanAngles kAngles, FanMath kMath, class Rows>
__global__ void FanBackprojectKernel(FanScan<T> scan, const FanView<T>* views, int view_count,
                                     Rows rows, FanImage image) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  const int slice = blockIdx.z;
  if (i >= image.nx || j >= image.ny) return;
  T sum = 0;
#pragma unroll 4
  for (int v = 0; v < view_count; ++v) {
    const FanView<T> view = views[v];
    const T x = fma(view.ex, static_cast<T>(j), fma(view.dx, static_cast<T>(i), view.x));
    const T u = fma(view.eu, static_cast<T>(j), fma(view.du, static_cast<T>(i), view.u));
    const T ratio = x / u;
    const T weight = scan.flat ? 1 / (u * u) : 1 / (x * x + u * u);
    // The comparison is false for what is not finite.
    if (u > scan.nearest && fabs(ratio) < scan.steepest) {
      sum += weight * rows.At(v, slice, FanPosition<T, kAngles>(scan, ratio));
    }
  }
  float& voxel = image.voxels[(static_cast<int64_t>(slice) * image.ny + j) * image.nx + i];
  voxel = static_cast<float>(voxel + sum);
}

constexpr int64_t kFanTextureRows = 16384;      // that a texture holds at most
constexpr int64_t kFanTextureChannels = 32768;  // beyond, values come from memory
constexpr int kFanMostSlices = 65535;           // of a grid of blocks; grids have 4096

template <class T, FanAngles kAngles, bool kTexture, FanMath kMath = FanMath::kExact,
          class Source = FanChannelRows>
class FanBackproject final : public ops::FanBeamBackproject {
 public:
  explicit FanBackproject(CudaSession& session)
      : session_(session), source_(session), array_(LayeredArray::Writing::kByCopies) {
    static_assert((kAngles == FanAngles::kTangent) == Source::kTangent);
  }

  static int64_t Bytes(const ops::Extents& extents) {
    const Shape3 stack = Source::Largest(extents.stack);
    const int64_t texture = kTexture && stack.fast <= kFanTextureChannels
                                ? std::min(kFanTextureRows, stack.slow * stack.middle) * stack.fast
                                : 0;
    return Source::Bytes(extents.stack) + texture * int64_t{sizeof(float)} +
           stack.slow * int64_t{sizeof(FanView<T>)};
  }

  absl::Status DoRun(const FanBeamGeometry& geometry, int first_view,
                     const ops::ProjectionStack& filtered, ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(filtered));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    ISO_ASSIGN_OR_RETURN(const FanRows from, source_.Of(geometry, *stack));
    const Shape3& shape = from.shape;
    const std::vector<FanView<T>> views =
        MakeFanViews<T>(geometry, first_view, static_cast<int>(shape.slow), target->grid());
    ISO_RETURN_IF_ERROR(views_.Reserve(session_.memory(), shape.slow));
    ISO_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(views_.data(), views.data(),
                                             views.size() * sizeof(FanView<T>),
                                             cudaMemcpyHostToDevice, session_.stream()));
    const FanScan<T> scan = source_.template Scan<T>(geometry);
    if constexpr (kTexture) {
      if (shape.fast <= kFanTextureChannels && shape.middle <= kFanTextureRows) {
        return RunFromTexture(scan, from, *target);
      }
    }
    const FanRowsInMemory rows{from.data, static_cast<int>(shape.middle),
                               static_cast<int>(shape.fast)};
    return Launch(scan, 0, static_cast<int>(shape.slow), rows, *target);
  }

 private:
  template <class Rows>
  absl::Status Launch(const FanScan<T>& scan, int64_t first, int count, const Rows& rows,
                      Volume& volume) {
    const VolumeGrid& grid = volume.grid();
    static_assert(kFanMostSlices >= 4096);
    const dim3 block(32, 8), blocks((grid.nx + 31) / 32, (grid.ny + 7) / 8, grid.nz);
    FanBackprojectKernel<T, kAngles, kMath><<<blocks, block, 0, session_.stream()>>>(
        scan, views_.data() + first, count, rows, {volume.data(), grid.nx, grid.ny});
    return ToStatus(cudaGetLastError(), "FanBackprojectKernel");
  }

  absl::Status RunFromTexture(const FanScan<T>& scan, const FanRows& from, Volume& volume) {
    const Shape3& shape = from.shape;
    const int64_t most = std::max<int64_t>(1, std::min(kFanTextureRows / shape.middle, shape.slow));
    ISO_RETURN_IF_ERROR(array_.Reserve(cudaCreateChannelDesc<float>(),
                                       make_cudaExtent(shape.fast, most * shape.middle, 1),
                                       session_));
    for (int64_t first = 0; first < shape.slow; first += most) {
      const int64_t count = std::min(most, shape.slow - first);
      cudaMemcpy3DParms copy = {};
      copy.srcPtr =
          make_cudaPitchedPtr(const_cast<float*>(from.data) + first * shape.middle * shape.fast,
                              shape.fast * sizeof(float), shape.fast, count * shape.middle);
      copy.dstArray = array_.array();
      copy.extent = make_cudaExtent(shape.fast, count * shape.middle, 1);
      copy.kind = cudaMemcpyDeviceToDevice;
      ISO_RETURN_IF_CUDA_ERROR(cudaMemcpy3DAsync(&copy, session_.stream()));
      ISO_RETURN_IF_ERROR(Launch(scan, first, static_cast<int>(count),
                                 FanRowsInTexture{array_.texture(), static_cast<int>(shape.middle)},
                                 volume));
    }
    return absl::OkStatus();
  }

  CudaSession& session_;
  Source source_;
  DeviceBuffer<FanView<T>> views_;
  LayeredArray array_;
};

}  // namespace isocenter::cuda
