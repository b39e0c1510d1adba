// The ramp filter as one kernel: a block transforms two rows at once as the real and the imaginary
// part of one complex row, multiplies the spectrum with the real response, which keeps the two
// apart, and transforms back; all in shared memory. A row is read and written once. Rows that do
// not fit go to cuFFT (ramp_filter_cufft.cu).
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/base/units.h"
#include "kernels/cuda/fdk/butterflies.cuh"
#include "kernels/cuda/fdk/cut_row.cuh"
#include "kernels/cuda/fdk/methods.h"
#include "kernels/cuda/fdk/row_transform.h"
#include "kernels/ops/check.h"

namespace isocenter::cuda {
namespace {

constexpr int kMaxThreads = 320;  // a butterfly of radix 8 each for rows of 1280 pixels

// v[k] *= w^k.
template <int kRadix>
__device__ inline void Twiddle(float2 (&v)[kRadix], float2 w) {
  // Two running powers: few registers, and few roundings in a row.
  const float2 square = Multiply(w, w);
  float2 odd = w, even = square;
#pragma unroll
  for (int k = 1; k < kRadix; ++k) {
    float2& power = k % 2 == 1 ? odd : even;
    v[k] = Multiply(v[k], power);
    if (k + 2 < kRadix) power = Multiply(power, square);
  }
}

__device__ inline int At(int i) { return i + (i >> 4); }  // RowTransform::At

// Two rows; where there is only one, both are the same and the second result is not written.
template <ops::Truncation kMethod>
struct RowPair {
  CutRow in[2];
  float* out[2];

  // Value `i` of the padded rows, zeros behind.
  __device__ float2 Load(int i) const {
    const int u = i - in[0].extension;
    return {PreparedPixel<kMethod>(in[0], u), PreparedPixel<kMethod>(in[1], u)};
  }
  __device__ void Store(int i, float2 value) const {
    const int u = i - in[0].extension;
    if (u < 0 || u >= in[0].columns) return;
    out[0][u] = value.x;
    if (out[1] != nullptr) out[1][u] = value.y;
  }
};

struct Tables {
  const float2* twiddle;  // exp(-2πi t/n), t = 0..n-1
  const float* response;  // /n, in digit-reversed order
};

// One pass over sequences of length `length`, of which each is made of or split into kRadix parts.
struct Pass {
  int length, part;
  int sequences;  // of the row
  int shift;      // part = 2^shift, or -1

  __device__ Pass(int length, int radix, int sequences)
      : length(length), part(length / radix), sequences(sequences) {
    shift = (part & (part - 1)) == 0 ? __ffs(part) - 1 : -1;
  }
  // Butterfly b works on the values at base, base + part, ...; its twiddle factor is that of `j`.
  // Most divisors are powers of two.
  __device__ int SequenceOf(int b) const {
    return sequences == 1 ? 0 : shift >= 0 ? b >> shift : b / part;
  }
};

// A forward pass. The last one multiplies with the response and makes the first pass of the inverse
// transform, which works on the same values.
template <int kRadix, class Rows>
__device__ void Forward(const Pass& pass, const Rows& rows, const Tables& tables, float2* values) {
  const bool first = pass.sequences == 1, last = pass.part == 1;
  const int part = pass.part;
  for (int b = threadIdx.x; b < pass.sequences * part; b += blockDim.x) {
    const int sequence = pass.SequenceOf(b), j = b - sequence * part;
    const int base = sequence * pass.length + j;
    float2 v[kRadix];
#pragma unroll
    for (int k = 0; k < kRadix; ++k) {
      v[k] = first ? rows.Load(base + k * part) : values[At(base + k * part)];
    }
    Transform<false>(v);
    if (last) {
#pragma unroll
      for (int k = 0; k < kRadix; ++k) v[k] = __ldg(tables.response + base + k) * v[k];
      Transform<true>(v);
    } else {
      Twiddle(v, __ldg(tables.twiddle + j * pass.sequences));
    }
#pragma unroll
    for (int k = 0; k < kRadix; ++k) {
      if (first && last) {
        rows.Store(base + k * part, v[k]);
      } else {
        values[At(base + k * part)] = v[k];
      }
    }
  }
}

// The pass of the inverse transform that undoes Forward's.
template <int kRadix, class Rows>
__device__ void Backward(const Pass& pass, const Rows& rows, const Tables& tables, float2* values) {
  const bool final = pass.sequences == 1;
  const int part = pass.part;
  for (int b = threadIdx.x; b < pass.sequences * part; b += blockDim.x) {
    const int sequence = pass.SequenceOf(b), j = b - sequence * part;
    const int base = sequence * pass.length + j;
    float2 v[kRadix];
#pragma unroll
    for (int k = 0; k < kRadix; ++k) v[k] = values[At(base + k * part)];
    const float2 w = __ldg(tables.twiddle + j * pass.sequences);
    Twiddle(v, {w.x, -w.y});
    Transform<true>(v);
#pragma unroll
    for (int k = 0; k < kRadix; ++k) {
      if (final) {
        rows.Store(base + k * part, v[k]);
      } else {
        values[At(base + k * part)] = v[k];
      }
    }
  }
}

// Calls body with the radix as a compile-time constant.
template <class Body>
__device__ void WithRadix(int radix, const Body& body) {
  switch (radix) {
    case 2:
      return body(std::integral_constant<int, 2>());
    case 3:
      return body(std::integral_constant<int, 3>());
    case 4:
      return body(std::integral_constant<int, 4>());
    case 5:
      return body(std::integral_constant<int, 5>());
    default:
      return body(std::integral_constant<int, 8>());
  }
}

template <ops::Truncation kMethod>
__global__ __launch_bounds__(kMaxThreads,
                             4) void FilterKernel(const __grid_constant__ RowTransform transform,
                                                  const __grid_constant__ Tables tables,
                                                  const __grid_constant__ CylinderFit cylinder,
                                                  const float* in, int64_t rows, int columns,
                                                  float* out) {
  extern __shared__ float2 values[];
  __shared__ EdgeParabola edges[4];
  const int64_t row = int64_t{2} * blockIdx.x;
  const bool two = row + 1 < rows;
  const float* first = in + row * columns;
  float* target = out + row * columns;
  const RowPair<kMethod> pair{
      {{first, columns, cylinder.extension, edges},
       {two ? first + columns : first, columns, cylinder.extension, edges + 2}},
      {target, two ? target + columns : nullptr}};
  if (kMethod == ops::Truncation::kCylinder) {
    __shared__ RowParabola fits[2];
    FitCylinders({pair.in[0].pixels, pair.in[1].pixels}, columns, cylinder, edges, fits);
  }
  int length = transform.n, sequences = 1;
  for (int i = 0; i < transform.passes; ++i) {
    if (i > 0) __syncthreads();
    const int radix = transform.radix[i];
    const Pass pass(length, radix, sequences);
    WithRadix(radix, [&](auto r) { Forward<decltype(r)::value>(pass, pair, tables, values); });
    length = pass.part;
    sequences *= radix;
  }
  sequences /= transform.radix[transform.passes - 1];
  length = transform.radix[transform.passes - 1];
  for (int i = transform.passes - 2; i >= 0; --i) {
    __syncthreads();
    const int radix = transform.radix[i];
    length *= radix;
    sequences /= radix;
    const Pass pass(length, radix, sequences);
    WithRadix(radix, [&](auto r) { Backward<decltype(r)::value>(pass, pair, tables, values); });
  }
}

auto KernelFor(const ops::RampFilterSpec& spec) {
  return WithTruncation(spec.truncation,
                        [](auto method) { return &FilterKernel<decltype(method)::value>; });
}

class RampFilterFused final : public ops::RampFilter {
 public:
  static absl::StatusOr<std::unique_ptr<ops::RampFilter>> Create(CudaSession& session,
                                                                 const ops::RampFilterSpec& spec,
                                                                 const RowTransform& transform) {
    ISO_ASSIGN_OR_RETURN(auto twiddle, DeviceBuffer<float2>::Create(session.memory(), transform.n));
    ISO_ASSIGN_OR_RETURN(auto response, DeviceBuffer<float>::Create(session.memory(), transform.n));
    std::vector<float2> factors;
    for (int t = 0; t < transform.n; ++t) {
      const double angle = -2 * kPi * t / transform.n;
      factors.push_back({static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
    }
    std::vector<float> ordered;
    const std::vector<double> spectrum = ops::RampFilterResponse(spec, transform.n);
    for (const int frequency : FrequencyOrder(transform)) {
      const int folded = std::min(frequency, transform.n - frequency);
      ordered.push_back(static_cast<float>(spectrum[folded] / transform.n));
    }
    ISO_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(twiddle.data(), factors.data(),
                                             factors.size() * sizeof(float2),
                                             cudaMemcpyHostToDevice, session.stream()));
    ISO_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(response.data(), ordered.data(),
                                             ordered.size() * sizeof(float), cudaMemcpyHostToDevice,
                                             session.stream()));
    // The same for all rows: the attribute belongs to the kernel, which jobs share.
    constexpr int kSharedBytes = 96 << 10;
    const auto kernel = KernelFor(spec);
    ISO_RETURN_IF_CUDA_ERROR(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes));
    ISO_RETURN_IF_ERROR(session.Synchronize());
    return std::unique_ptr<ops::RampFilter>(
        new RampFilterFused(session, spec, transform, std::move(twiddle), std::move(response)));
  }

  absl::Status DoRun(int views, const ops::ProjectionStack& line_integrals,
                     ops::ProjectionStack& filtered) override {
    ISO_ASSIGN_OR_RETURN(const Stack* in, AsStack(line_integrals));
    ISO_ASSIGN_OR_RETURN(Stack * out, AsStack(filtered));
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const int64_t rows = views * in->shape().middle;
    if (rows == 0) return absl::OkStatus();
    const int threads = std::clamp((transform_.n / 8 + 31) / 32 * 32, 32, kMaxThreads);
    KernelFor(spec())<<<static_cast<unsigned>((rows + 1) / 2), threads, transform_.shared_bytes(),
                        session_.stream()>>>(transform_, {twiddle_.data(), response_.data()},
                                             CylinderFit::Of(spec()), in->data(), rows,
                                             spec().columns, out->data());
    return ToStatus(cudaGetLastError(), "FilterKernel");
  }

 private:
  RampFilterFused(CudaSession& session, const ops::RampFilterSpec& spec,
                  const RowTransform& transform, DeviceBuffer<float2> twiddle,
                  DeviceBuffer<float> response)
      : RampFilter(spec),
        session_(session),
        transform_(transform),
        twiddle_(std::move(twiddle)),
        response_(std::move(response)) {}

  CudaSession& session_;
  RowTransform transform_;
  DeviceBuffer<float2> twiddle_;
  DeviceBuffer<float> response_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::RampFilter>> NewRampFilterFused(
    CudaSession& session, const ops::RampFilterSpec& spec) {
  ISO_RETURN_IF_ERROR(ops::CheckRampFilter(spec));
  ISO_RETURN_IF_ERROR(session.MakeCurrent());
  const RowTransform transform = ChooseRowTransform(ops::MinimumTransformLength(spec));
  if (!transform.fits_shared_memory()) return NewRampFilterCufft(session, spec);
  return RampFilterFused::Create(session, spec, transform);
}

int64_t RampFilterFusedBytes(const ops::Extents& extents, const ops::RampFilterSpec& spec) {
  const RowTransform transform = ChooseRowTransform(ops::MinimumTransformLength(spec));
  if (!transform.fits_shared_memory()) return RampFilterCufftBytes(extents, spec);
  return transform.n * int64_t{sizeof(float2) + sizeof(float)};
}

}  // namespace isocenter::cuda
