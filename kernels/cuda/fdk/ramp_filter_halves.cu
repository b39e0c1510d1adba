// The ramp filter of rows of up to 2048 pixels as they are. Padded with as many zeros, a row of n
// has the frequencies 2f and 2f + 1 of 2n: the even ones are the transform of the row, the odd ones
// that of the row turned by exp(-πi t/n) at pixel t. Both have n = 16 · 16 · kRadix values, which
// are passed on in shared memory twice each way; sums of sixteen are in registers. No zero is ever
// transformed. A thread block works on a few pairs of rows, of which each pair is one complex row.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/cuda/fdk/butterflies.cuh"
#include "kernels/cuda/fdk/methods.h"
#include "kernels/ops/check.h"

namespace isocenter::cuda {
namespace {

// Position i of a row is (q, s, k): i = (16 q + s) kRadix + k. A pass sums over one of the three.
template <int kRadix>
struct Plan {
  static constexpr int kThreads = 16 * kRadix;  // of a pair of rows: 16 values each
  static constexpr int kLength = 16 * kThreads;
  static constexpr int kPairs = kRadix <= 3 ? 4 : kRadix <= 6 ? 2 : 1;
  static constexpr int kBlocks = 640 / (kPairs * kThreads);  // per multiprocessor: 96 registers
  // Where (q, s, k) lies in shared memory, such that neighbouring threads of each pass fall into
  // different banks.
  static constexpr int kOfS = kRadix | 1, kOfQ = 16 * kOfS + kRadix;
  static constexpr int kValues = 16 * kOfQ;
};

struct Tables {
  const float2* first;    // [parity][q][t] exp(-πi t (2q + parity) / n), t < kThreads
  const float2* second;   // [s][k] exp(-2πi s k / kThreads)
  const float* response;  // [parity][k][q][s] of frequency 2 (q + 16 s + 256 k) + parity, / 2n
};

__device__ inline float2 Conjugate(float2 a) { return {a.x, -a.y}; }

// exp(-πi k/16): what is left of turning pixel t + k n/16 when t has been seen to.
__device__ inline float2 OfSixteenth(int k) {
  constexpr float kCos[] = {1.f,
                            0.98078528040323044913f,
                            0.92387953251128675613f,
                            0.83146961230254523708f,
                            0.70710678118654752440f,
                            0.55557023301960222474f,
                            0.38268343236508977173f,
                            0.19509032201612826785f,
                            0.f};
  const float c = k <= 8 ? kCos[k] : -kCos[16 - k], s = k <= 8 ? kCos[8 - k] : kCos[k - 8];
  return {c, -s};
}

template <int kRadix>
__global__ __launch_bounds__(Plan<kRadix>::kPairs* Plan<kRadix>::kThreads,
                             Plan<kRadix>::kBlocks) void HalvesKernel(const Tables tables,
                                                                      const float* __restrict__ in,
                                                                      int64_t rows, int columns,
                                                                      float* __restrict__ out) {
  using P = Plan<kRadix>;
  extern __shared__ float2 memory[];
  const int pair = threadIdx.x / P::kThreads, t = threadIdx.x % P::kThreads;
  float2* const values = memory + pair * P::kValues;
  const int64_t row = 2 * (int64_t{blockIdx.x} * P::kPairs + pair);
  const float* const first = in + min(row, rows - 1) * columns;
  const float* const second = in + min(row + 1, rows - 1) * columns;
  // What this thread has of a pass over q, of one over s.
  float2* const over_q = values + t / kRadix * P::kOfS + t % kRadix;
  float2* const over_s = values + t / kRadix * P::kOfQ + t % kRadix;
  const float2* const twiddle_s = tables.second + t % kRadix;

  float2 sum[16];
#pragma unroll
  for (int parity = 0; parity < 2; ++parity) {
    const float2* const twiddle_q = tables.first + parity * P::kLength + t;
    const float* const response = tables.response + parity * P::kLength;
    float2 v[16];
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      const int u = t + k * P::kThreads;
      v[k] = u < columns ? float2{__ldg(first + u), __ldg(second + u)} : float2{0, 0};
      if (parity == 1 && k > 0) v[k] = Multiply(v[k], OfSixteenth(k));
    }
    Transform<false>(v);
#pragma unroll
    for (int q = 0; q < 16; ++q) {
      if (q > 0 || parity == 1) v[q] = Multiply(v[q], __ldg(twiddle_q + q * P::kThreads));
      over_q[q * P::kOfQ] = v[q];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; ++k) v[k] = over_s[k * P::kOfS];
    Transform<false>(v);
#pragma unroll
    for (int s = 0; s < 16; ++s) {
      if (s > 0) v[s] = Multiply(v[s], __ldg(twiddle_s + s * kRadix));
      over_s[s * P::kOfS] = v[s];
    }
    __syncthreads();
    // The last pass, the product, and the first pass back: all of a block's values of (q, s).
    for (int at = threadIdx.x; at < 256 * P::kPairs; at += P::kPairs * P::kThreads) {
      const int qs = at % 256;
      float2* const over_k = memory + at / 256 * P::kValues + qs / 16 * P::kOfQ + qs % 16 * P::kOfS;
      float2 w[kRadix];
#pragma unroll
      for (int k = 0; k < kRadix; ++k) w[k] = over_k[k];
      Transform<false>(w);
#pragma unroll
      for (int k = 0; k < kRadix; ++k) w[k] = __ldg(response + k * 256 + qs) * w[k];
      Transform<true>(w);
#pragma unroll
      for (int k = 0; k < kRadix; ++k) over_k[k] = w[k];
    }
    __syncthreads();
#pragma unroll
    for (int s = 0; s < 16; ++s) {
      v[s] = over_s[s * P::kOfS];
      if (s > 0) v[s] = Multiply(v[s], Conjugate(__ldg(twiddle_s + s * kRadix)));
    }
    Transform<true>(v);
#pragma unroll
    for (int k = 0; k < 16; ++k) over_s[k * P::kOfS] = v[k];
    __syncthreads();
#pragma unroll
    for (int q = 0; q < 16; ++q) {
      v[q] = over_q[q * P::kOfQ];
      if (q > 0 || parity == 1) {
        v[q] = Multiply(v[q], Conjugate(__ldg(twiddle_q + q * P::kThreads)));
      }
    }
    Transform<true>(v);
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      if (parity == 0) {
        sum[k] = v[k];
      } else {
        sum[k] = sum[k] + (k > 0 ? Multiply(v[k], Conjugate(OfSixteenth(k))) : v[k]);
      }
    }
  }
#pragma unroll
  for (int k = 0; k < 16; ++k) {
    const int u = t + k * P::kThreads;
    if (u >= columns) break;
    if (row < rows) out[row * columns + u] = sum[k].x;
    if (row + 1 < rows) out[(row + 1) * columns + u] = sum[k].y;
  }
}

// Calls body with the least radix whose transforms hold `columns` as a compile-time constant.
template <class Body>
auto WithRadix(int columns, const Body& body) {
  if (columns <= Plan<2>::kLength) return body(std::integral_constant<int, 2>());
  if (columns <= Plan<3>::kLength) return body(std::integral_constant<int, 3>());
  if (columns <= Plan<4>::kLength) return body(std::integral_constant<int, 4>());
  if (columns <= Plan<5>::kLength) return body(std::integral_constant<int, 5>());
  if (columns <= Plan<6>::kLength) return body(std::integral_constant<int, 6>());
  return body(std::integral_constant<int, 8>());
}

bool Serves(const ops::RampFilterSpec& spec) {
  return spec.truncation == ops::Truncation::kNone && spec.columns <= Plan<8>::kLength;
}

int64_t TableBytes(int length) {
  return length * int64_t{2 * sizeof(float2) + 2 * sizeof(float)} + length / 16 * sizeof(float2);
}

class RampFilterHalves final : public ops::RampFilter {
 public:
  static absl::StatusOr<std::unique_ptr<ops::RampFilter>> Create(CudaSession& session,
                                                                 const ops::RampFilterSpec& spec) {
    const int radix = WithRadix(spec.columns, [](auto r) { return decltype(r)::value; });
    const int threads = 16 * radix, length = 16 * threads;
    const auto turn = [](double of, double whole) {
      const double angle = -2 * std::numbers::pi * of / whole;
      return float2{static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
    };
    std::vector<float2> first, second;
    std::vector<float> response;
    const std::vector<double> spectrum = ops::RampFilterResponse(spec, 2 * length);
    for (int parity = 0; parity < 2; ++parity) {
      for (int q = 0; q < 16; ++q) {
        for (int t = 0; t < threads; ++t) first.push_back(turn(t * (2 * q + parity), 2 * length));
      }
      for (int k = 0; k < radix; ++k) {
        for (int qs = 0; qs < 256; ++qs) {
          const int frequency = 2 * (qs / 16 + qs % 16 * 16 + 256 * k) + parity;
          response.push_back(static_cast<float>(
              spectrum[std::min(frequency, 2 * length - frequency)] / (2 * length)));
        }
      }
    }
    for (int s = 0; s < 16; ++s) {
      for (int k = 0; k < radix; ++k) second.push_back(turn(s * k, threads));
    }
    std::unique_ptr<RampFilterHalves> self(new RampFilterHalves(session, spec));
    ISO_ASSIGN_OR_RETURN(self->first_, Uploaded(session, first));
    ISO_ASSIGN_OR_RETURN(self->second_, Uploaded(session, second));
    ISO_ASSIGN_OR_RETURN(self->response_, Uploaded(session, response));
    ISO_RETURN_IF_ERROR(session.Synchronize());
    return self;
  }

  absl::Status DoRun(int views, const ops::ProjectionStack& line_integrals,
                     ops::ProjectionStack& filtered) override {
    ISO_ASSIGN_OR_RETURN(const Stack* in, AsStack(line_integrals));
    ISO_ASSIGN_OR_RETURN(Stack * out, AsStack(filtered));
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const int64_t rows = views * in->shape().middle;
    if (rows == 0) return absl::OkStatus();
    return WithRadix(spec().columns, [&](auto radix) {
      using P = Plan<decltype(radix)::value>;
      constexpr int kRows = 2 * P::kPairs;
      constexpr int kBytes = P::kPairs * P::kValues * int{sizeof(float2)};
      static_assert(kBytes <= 48 << 10);  // more would have to be asked for
      HalvesKernel<decltype(radix)::value>
          <<<static_cast<unsigned>((rows + kRows - 1) / kRows), P::kPairs * P::kThreads, kBytes,
             session_.stream()>>>({first_.data(), second_.data(), response_.data()}, in->data(),
                                  rows, spec().columns, out->data());
      return ToStatus(cudaGetLastError(), "HalvesKernel");
    });
  }

 private:
  RampFilterHalves(CudaSession& session, const ops::RampFilterSpec& spec)
      : RampFilter(spec), session_(session) {}

  // On the session's stream; `values` must stay until that is synchronized.
  template <class Value>
  static absl::StatusOr<DeviceBuffer<Value>> Uploaded(CudaSession& session,
                                                      const std::vector<Value>& values) {
    ISO_ASSIGN_OR_RETURN(auto buffer, DeviceBuffer<Value>::Create(session.memory(), values.size()));
    ISO_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(buffer.data(), values.data(),
                                             values.size() * sizeof(Value), cudaMemcpyHostToDevice,
                                             session.stream()));
    return buffer;
  }

  CudaSession& session_;
  DeviceBuffer<float2> first_, second_;
  DeviceBuffer<float> response_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::RampFilter>> NewRampFilterHalves(
    CudaSession& session, const ops::RampFilterSpec& spec) {
  ISO_RETURN_IF_ERROR(ops::CheckRampFilter(spec));
  ISO_RETURN_IF_ERROR(session.MakeCurrent());
  if (!Serves(spec)) return NewRampFilterFused(session, spec);
  return RampFilterHalves::Create(session, spec);
}

int64_t RampFilterHalvesBytes(const ops::Extents& extents, const ops::RampFilterSpec& spec) {
  if (!Serves(spec)) return RampFilterFusedBytes(extents, spec);
  return WithRadix(spec.columns,
                   [](auto radix) { return TableBytes(Plan<decltype(radix)::value>::kLength); });
}

}  // namespace isocenter::cuda
