#include <cuda_fp16.h>

#include "kernels/cuda/device/half_pixels.h"
#include "kernels/cuda/device/status.h"
#include "kernels/cuda/projectors/joseph/joseph_planes.h"

namespace isocenter::cuda {
namespace {

// A block copies 32 x 32 elements (b, plane) of a run of kRun rows (along c). Each thread has one b
// and four planes.
constexpr int kTile = 32, kLines = 8, kOwn = kTile / kLines, kRun = 16;

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

// Calls write(plane of the run, c, b, window) for rows c from `first_c` on, c a multiple of kStep
// away from it, until `end_c`; window holds rows c to c + kWindow - 1, zero outside of the volume.
// Planes across x are turned in shared memory, so that reads and writes are both in order.
template <bool kTurned, int kWindow, int kStep, class Write>
__global__ __launch_bounds__(kTile* kLines) void CopyPlanes(const float* volume, Layout from,
                                                            int first_c, int end_c, Write write) {
  __shared__ float tile[kTurned ? kTile : 1][kTile + 1];
  const int lane = threadIdx.x, line = threadIdx.y;
  const int b0 = blockIdx.x * kTile, k0 = blockIdx.y * kTile;
  const int run = first_c + blockIdx.z * kRun, run_end = min(run + kRun, end_c);
  float window[kOwn][kWindow] = {};
  for (int row = run; row < run_end + kWindow - 1; ++row) {
    const bool exists = row >= 0 && row < from.n_c;
    const float* const at = volume + row * from.along_c + from.first * from.along_major;
    float next[kOwn] = {};
    if constexpr (kTurned) {
      __syncthreads();
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
        const int k = k0 + lane, b = b0 + line + i * kLines;
        tile[line + i * kLines][lane] =
            exists && k < from.count && b < from.n_b ? at[k + b * from.along_b] : 0.f;
      }
      __syncthreads();
#pragma unroll
      for (int i = 0; i < kOwn; ++i) next[i] = tile[lane][line + i * kLines];
    } else {
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
        const int k = k0 + line + i * kLines, b = b0 + lane;
        if (exists && k < from.count && b < from.n_b) next[i] = at[k * from.along_major + b];
      }
    }
    const int c = row - (kWindow - 1);
    const bool complete = c >= run && (c - first_c) % kStep == 0;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
#pragma unroll
      for (int j = 0; j + 1 < kWindow; ++j) window[i][j] = window[i][j + 1];
      window[i][kWindow - 1] = next[i];
      const int k = k0 + line + i * kLines, b = b0 + lane;
      if (complete && k < from.count && b < from.n_b) write(k, c, b, window[i]);
    }
  }
}

template <int kWindow, int kStep, class Write>
absl::Status Copy(const PlaneSource& source, int first_c, int end_c, cudaStream_t stream,
                  Write write) {
  const Layout from = LayoutOf(source);
  const auto blocks = [](int n, int size) { return static_cast<unsigned>((n + size - 1) / size); };
  const dim3 grid(blocks(from.n_b, kTile), blocks(from.count, kTile),
                  blocks(end_c - first_c, kRun));
  const dim3 block(kTile, kLines);
  if (source.axes.major == 0) {
    CopyPlanes<true, kWindow, kStep>
        <<<grid, block, 0, stream>>>(source.volume, from, first_c, end_c, write);
  } else {
    CopyPlanes<false, kWindow, kStep>
        <<<grid, block, 0, stream>>>(source.volume, from, first_c, end_c, write);
  }
  return ToStatus(cudaGetLastError(), "CopyPlanes");
}

struct WriteLinear {
  float* data;
  int64_t pitch, rows;
  __device__ void operator()(int k, int c, int b, const float (&window)[1]) const {
    data[(k * rows + c + 1) * pitch + b + 1] = window[0];
  }
};

template <int kStep>
struct WriteRows {
  cudaSurfaceObject_t surface;
  __device__ void operator()(int k, int c, int b, const float (&window)[4]) const {
    const auto pair = [&](int i) {
      const __half2 two = __floats2half2_rn(kHalfScale * window[i], kHalfScale * window[i + 1]);
      return *reinterpret_cast<const unsigned*>(&two);
    };
    surf2DLayeredwrite(make_uint2(pair(0), pair(2)), surface, b * 8,
                       (c + RowsTexture::kRowsBefore) / kStep, k);
  }
};

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
  return Copy<1, 1>(source, 0, from.n_c, stream, WriteLinear{data_.data(), pitch_, rows_});
}

absl::Status RowsTexture::Fill(const PlaneSource& source, int step, const CudaSession& session) {
  const Layout from = LayoutOf(source);
  const cudaExtent extent{static_cast<size_t>(from.n_b), static_cast<size_t>(Rows(from.n_c, step)),
                          static_cast<size_t>(from.count)};
  ISO_RETURN_IF_ERROR(array_.Reserve(cudaCreateChannelDescHalf4(), extent, session));
  const cudaStream_t stream = session.stream();
  if (step == 1) {
    return Copy<4, 1>(source, -kRowsBefore, from.n_c, stream, WriteRows<1>{array_.surface()});
  }
  return Copy<4, 2>(source, -kRowsBefore, from.n_c, stream, WriteRows<2>{array_.surface()});
}

}  // namespace isocenter::cuda
