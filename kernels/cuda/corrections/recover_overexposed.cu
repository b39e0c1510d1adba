#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/cuda/corrections/methods.h"
#include "kernels/ops/check.h"

namespace isocenter::cuda {
namespace {

// Doses go with a launch's arguments, which needs no copy that somebody would wait for.
constexpr int kViewsAtOnce = 256;
constexpr int kThreads = 128;

struct OverexposedJob {
  const float* bounds;  // above which pixels are overexposed; not a number where one is defective
  int rows, columns;
  int fit;  // pixels that tell of an edge
  float* frames;
  float doses[kViewsAtOnce];
};

struct Row {
  const float* bounds;
  float* pixels;
  int columns;
  int fit;  // pixels that tell of an edge
  double dose;

  __device__ bool overexposed(int u) const { return pixels[u] > bounds[u]; }
  __device__ bool good(int u) const { return pixels[u] <= bounds[u]; }
};

/// p² at the end of a run, and by how much it falls with each pixel into it.
struct Edge {
  double square, fall;

  __device__ double SquareAt(int distance) const { return square - fall * distance; }
};

__device__ inline Edge FindEdge(const Row& row, int end, int direction) {
  double n = 0, s_sum = 0, q_sum = 0, ss = 0, sq = 0;
  for (int s = 1; s <= 2 * row.fit && n < row.fit; ++s) {
    const int u = end + s * direction;
    if (u < 0 || u >= row.columns || row.overexposed(u)) break;
    if (!row.good(u)) continue;
    const double through = fmax(row.pixels[u] / row.dose, exp(-ops::kLongestLineIntegral));
    const double p = fmax(0.0, -log(through));
    n += 1;
    s_sum += s;
    q_sum += p * p;
    ss += double{1} * s * s;
    sq += s * p * p;
  }
  if (n == 0) return {0, 0};
  const double covariance = sq - s_sum * q_sum / n, variance = ss - s_sum * s_sum / n;
  const double fall = covariance > 0 ? covariance / variance : 0;
  return {(q_sum - fall * s_sum) / n, fall};
}

/// The run from `first` on: nothing in it is read that another run's pixels are written to, because
/// edges end at the next overexposed pixel.
__device__ inline void RecoverRun(const Row& row, int first) {
  int last = first;
  bool any = row.overexposed(first);
  while (last + 1 < row.columns && !row.good(last + 1)) any |= row.overexposed(++last);
  if (!any) return;
  const Edge before = FindEdge(row, first, -1), after = FindEdge(row, last, 1);
  for (int u = first; u <= last; ++u) {
    if (!row.overexposed(u)) continue;
    const double square = fmax(0.0, fmax(before.SquareAt(u - first), after.SquareAt(last - u)));
    // What is written stays above its bound: it is overexposed for every thread, before and after.
    row.pixels[u] = fmaxf(row.pixels[u], static_cast<float>(row.dose * exp(-sqrt(square))));
  }
}

// A block has a row of a frame, a thread the runs that begin at its pixels.
__global__ __launch_bounds__(kThreads) void RecoverKernel(
    const __grid_constant__ OverexposedJob job) {
  const int v = static_cast<int>(blockIdx.x), view = static_cast<int>(blockIdx.y);
  if (job.doses[view] == 0) return;
  const Row row{.bounds = job.bounds + static_cast<int64_t>(v) * job.columns,
                .pixels = job.frames + (static_cast<int64_t>(view) * job.rows + v) * job.columns,
                .columns = job.columns,
                .fit = job.fit,
                .dose = job.doses[view]};
  for (int u = static_cast<int>(threadIdx.x); u < job.columns; u += kThreads) {
    if (!row.good(u) && (u == 0 || row.good(u - 1))) RecoverRun(row, u);
  }
}

class RecoverOverexposed final : public ops::RecoverOverexposed {
 public:
  RecoverOverexposed(CudaSession& session, const Detector& detector, DeviceBuffer<float> bounds)
      : ops::RecoverOverexposed(detector), session_(session), bounds_(std::move(bounds)) {
    job_.bounds = bounds_.data();
    job_.rows = detector.rows;
    job_.columns = detector.columns;
    job_.fit = ops::OverexposedFit(detector);
  }

 private:
  absl::Status DoRun(std::span<const float> given, ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    const bool told = std::any_of(given.begin(), given.end(), [](float dose) { return dose != 0; });
    if (bounds_.count() == 0 || !told) return absl::OkStatus();
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    for (size_t first = 0; first < given.size(); first += kViewsAtOnce) {
      const std::span<const float> part =
          given.subspan(first, std::min<size_t>(kViewsAtOnce, given.size() - first));
      OverexposedJob job = job_;
      job.frames = stack->data() + static_cast<int64_t>(first) * job.rows * job.columns;
      std::copy(part.begin(), part.end(), job.doses);
      RecoverKernel<<<dim3(job.rows, static_cast<unsigned>(part.size())), kThreads, 0,
                      session_.stream()>>>(job);
      ISO_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    }
    return absl::OkStatus();
  }

  CudaSession& session_;
  const DeviceBuffer<float> bounds_;  // empty: the full scale is not known
  OverexposedJob job_ = {};
};

std::vector<float> BoundsOf(const ops::Calibration& calibration) {
  const ops::PixelResponse& response = *calibration.response;
  std::vector<float> bounds(response.air_counts.size());
  for (size_t i = 0; i < bounds.size(); ++i) {
    // Half a count below: readings are whole numbers.
    bounds[i] = static_cast<float>((response.full_scale_counts - 0.5 - response.offset_counts[i]) /
                                   response.air_counts[i]);
  }
  for (const int32_t pixel : calibration.defects.pixels) {
    bounds[pixel] = std::numeric_limits<float>::quiet_NaN();
  }
  return bounds;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ops::RecoverOverexposed>> NewRecoverOverexposed(
    CudaSession& session, const ops::Calibration& calibration) {
  ISO_RETURN_IF_ERROR(session.MakeCurrent());
  DeviceBuffer<float> on_device;
  if (calibration.response->full_scale_counts > 0) {
    const std::vector<float> bounds = BoundsOf(calibration);
    ISO_ASSIGN_OR_RETURN(on_device, DeviceBuffer<float>::Create(session.memory(), bounds.size()));
    ISO_RETURN_IF_CUDA_ERROR(
        cudaMemcpy(on_device.data(), bounds.data(), on_device.bytes(), cudaMemcpyHostToDevice));
  }
  return std::make_unique<RecoverOverexposed>(session, calibration.detector, std::move(on_device));
}

int64_t RecoverOverexposedBytes(const ops::Extents&, const ops::Calibration& calibration) {
  return int64_t{calibration.detector.rows} * calibration.detector.columns *
         static_cast<int64_t>(sizeof(float));
}

}  // namespace isocenter::cuda
