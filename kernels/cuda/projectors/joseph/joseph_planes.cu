#include <cuda_fp16.h>

#include "kernels/cuda/device/half_pixels.h"
#include "kernels/cuda/device/status.h"
#include "kernels/cuda/projectors/joseph/joseph_planes.h"

namespace isocenter::cuda {
namespace {

// A block copies 32 x 32 elements (b, plane) of a run of kRun rows (along c).
constexpr int kTile = 32, kWarps = 8, kRun = 16;

// Where the planes are in the volume: elements from one to the next along each axis.
struct Layout {
  int n_b, n_c, first, count;
  int64_t along_major, along_b, along_c;
};

Layout LayoutOf(const PlaneSource& source) {
  const int n[] = {source.nx, source.ny, source.nz};
  const int64_t stride[] = {1, source.nx, int64_t{source.nx} * source.ny};
  const PlaneAxes& a = source.axes;
  return {n[a.b], n[a.c], source.first, source.count, stride[a.major], stride[a.b], stride[a.c]};
}

// What threads read of a row along c: kLanes of a warp have a b each, and kOwn planes.
template <bool kTurned, int kLanes>
struct Reader {
  static constexpr int kPerTile = kTile / kLanes, kLines = kWarps / kPerTile, kOwn = kTile / kLines;

  const float* volume;
  const Layout& from;
  const int lane = threadIdx.x, warp = threadIdx.y;
  const int b0 = blockIdx.x * kTile, k0 = blockIdx.y * kTile;
  const int own_b = warp % kPerTile * kLanes + lane % kLanes, line = warp / kPerTile;

  __device__ int b() const { return b0 + own_b; }
  __device__ int plane(int i) const { return k0 + line + i * kLines; }
  __device__ bool Exists(int i) const { return b() < from.n_b && plane(i) < from.count; }

  // Zero outside of the volume. By all threads of a block. Planes across x are turned in shared
  // memory, so that reads and writes are both in order.
  template <class Take>
  __device__ void Read(int row, float (&tile)[kTurned ? kTile : 1][kTile + 1], Take take) const {
    const bool exists = row >= 0 && row < from.n_c;
    const float* const at = volume + row * from.along_c + from.first * from.along_major;
    if constexpr (kTurned) {
      __syncthreads();
#pragma unroll
      for (int i = warp; i < kTile; i += kWarps) {
        const bool inside = exists && k0 + lane < from.count && b0 + i < from.n_b;
        tile[i][lane] = inside ? at[k0 + lane + (b0 + i) * from.along_b] : 0.f;
      }
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      if constexpr (kTurned) {
        take(i, tile[own_b][line + i * kLines]);
      } else {
        take(i, exists && Exists(i) ? at[plane(i) * from.along_major + b()] : 0.f);
      }
    }
  }
};

template <bool kTurned>
__global__ __launch_bounds__(kTile* kWarps) void CopyLinear(const float* volume, Layout from,
                                                            float* data, int64_t pitch,
                                                            int64_t rows) {
  __shared__ float tile[kTurned ? kTile : 1][kTile + 1];
  const Reader<kTurned, kTile> reader{volume, from};
  const int run = blockIdx.z * kRun;
  for (int c = run; c < min(run + kRun, from.n_c); ++c) {
    reader.Read(c, tile, [&](int i, float value) {
      if (!reader.Exists(i)) return;
      data[(reader.plane(i) * rows + c + 1) * pitch + reader.b() + 1] = value;
    });
  }
}

// The texels of RowsTexture. A sector of an array has two rows of a few texels: a warp writes two
// rows at a time, and so whole sectors.
template <bool kTurned, int kStep>
__global__ __launch_bounds__(kTile* kWarps) void CopyRows(const float* volume, Layout from,
                                                          cudaSurfaceObject_t surface) {
  constexpr int kBefore = RowsTexture::kRowsBefore;
  constexpr int kHeld = 4 + kStep, kNext = 2 * kStep;  // rows of the volume
  __shared__ float tile[kTurned ? kTile : 1][kTile + 1];
  const Reader<kTurned, kTile / 2> reader{volume, from};
  const int second = threadIdx.x / (kTile / 2);  // of the two rows
  const int run = static_cast<int>(blockIdx.z) * kRun - kBefore;
  const int end = min(run + kRun, from.n_c);
  float held[reader.kOwn][kHeld];  // from row c on
  for (int row = 0; row < kHeld - kNext; ++row) {
    reader.Read(run + row, tile, [&](int i, float value) { held[i][row + kNext] = value; });
  }
  for (int c = run; c < end; c += kNext) {
#pragma unroll
    for (int i = 0; i < reader.kOwn; ++i) {
#pragma unroll
      for (int row = 0; row < kHeld - kNext; ++row) held[i][row] = held[i][row + kNext];
    }
#pragma unroll
    for (int row = kHeld - kNext; row < kHeld; ++row) {
      reader.Read(c + row, tile, [&](int i, float value) { held[i][row] = value; });
    }
    const int own = c + second * kStep;
    if (own >= end) continue;
#pragma unroll
    for (int i = 0; i < reader.kOwn; ++i) {
      const auto pair = [&](int first) {
        const float low = second ? held[i][first + kStep] : held[i][first];
        const float high = second ? held[i][first + 1 + kStep] : held[i][first + 1];
        const __half2 two = __floats2half2_rn(kHalfScale * low, kHalfScale * high);
        return *reinterpret_cast<const unsigned*>(&two);
      };
      if (!reader.Exists(i)) continue;
      surf2DLayeredwrite(make_uint2(pair(0), pair(2)), surface, reader.b() * 8,
                         (own + kBefore) / kStep, reader.plane(i));
    }
  }
}

dim3 BlocksOf(const Layout& from, int rows) {
  const auto blocks = [](int n, int size) { return static_cast<unsigned>((n + size - 1) / size); };
  return {blocks(from.n_b, kTile), blocks(from.count, kTile), blocks(rows, kRun)};
}
const dim3 kThreadsOfBlock(kTile, kWarps);

}  // namespace

absl::Status LinearPlanes::Fill(const PlaneSource& source, const CudaSession& session) {
  const cudaStream_t stream = session.stream();
  const Layout from = LayoutOf(source);
  const int pitch = from.n_b + 3, rows = from.n_c + 3;
  const int64_t count = int64_t{pitch} * rows * from.count;
  if (count > data_.count() || pitch != pitch_ || rows != rows_) {
    if (count > data_.count() && data_.count() > 0) {
      ISO_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(stream));  // kernels may still read it
    }
    ISO_RETURN_IF_ERROR(data_.Reserve(session.memory(), count));
    pitch_ = pitch;
    rows_ = rows;
    // The borders; later runs of the same planes leave them as they are.
    ISO_RETURN_IF_CUDA_ERROR(
        cudaMemsetAsync(data_.data(), 0, data_.count() * sizeof(float), stream));
  }
  const auto kernel = source.axes.major == 0 ? CopyLinear<true> : CopyLinear<false>;
  kernel<<<BlocksOf(from, from.n_c), kThreadsOfBlock, 0, stream>>>(source.volume, from,
                                                                   data_.data(), pitch_, rows_);
  return ToStatus(cudaGetLastError(), "CopyLinear");
}

absl::Status RowsTexture::Fill(const PlaneSource& source, int step, const CudaSession& session) {
  const Layout from = LayoutOf(source);
  const cudaExtent extent{static_cast<size_t>(from.n_b), static_cast<size_t>(Rows(from.n_c, step)),
                          static_cast<size_t>(from.count)};
  ISO_RETURN_IF_ERROR(array_.Reserve(cudaCreateChannelDescHalf4(), extent, session));
  const bool turned = source.axes.major == 0;
  const auto kernel = step == 1 ? (turned ? CopyRows<true, 1> : CopyRows<false, 1>)
                                : (turned ? CopyRows<true, 2> : CopyRows<false, 2>);
  kernel<<<BlocksOf(from, from.n_c + kRowsBefore), kThreadsOfBlock, 0, session.stream()>>>(
      source.volume, from, array_.surface());
  return ToStatus(cudaGetLastError(), "CopyRows");
}

}  // namespace isocenter::cuda
