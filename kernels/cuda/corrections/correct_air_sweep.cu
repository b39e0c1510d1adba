#include <algorithm>
#include <utility>

#include "kernels/cuda/corrections/methods.h"
#include "kernels/ops/check.h"

namespace isocenter::cuda {
namespace {

// Places go with a launch's arguments, which needs no copy that somebody would wait for.
constexpr int kViewsAtOnce = 256;
constexpr int kThreads = 256;

struct SweepJob {
  const float* sweep;  // [angle][row][column] of blocks
  int angles, down, across;
  int rows, columns;
  float* frames;
  float places[kViewsAtOnce];
};

/// Of a position, among `count` points: the one before or at it, the next one, and how far that
/// counts.
struct Place {
  int low, high;
  float share;
};

__device__ inline Place PlaceOf(float position, int count) {
  const float held = fminf(fmaxf(position, 0.f), static_cast<float>(count - 1));
  const int low = static_cast<int>(held);
  return {low, min(low + 1, count - 1), held - static_cast<float>(low)};
}

__device__ inline float Lerp(float low, float high, float share) {
  return fmaf(high - low, share, low);
}

__device__ inline float AirOf(const SweepJob& job, const Place& angle, const Place& row,
                              const Place& column) {
  const auto at_row = [&](int a, int r) {
    const float* const blocks = job.sweep + (static_cast<int64_t>(a) * job.down + r) * job.across;
    return Lerp(blocks[column.low], blocks[column.high], column.share);
  };
  const auto at_angle = [&](int a) {
    return Lerp(at_row(a, row.low), at_row(a, row.high), row.share);
  };
  return Lerp(at_angle(angle.low), at_angle(angle.high), angle.share);
}

// A thread has one pixel of one frame.
__global__ __launch_bounds__(kThreads) void AirSweepKernel(const __grid_constant__ SweepJob job) {
  const int u = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  const int v = static_cast<int>(blockIdx.y), view = static_cast<int>(blockIdx.z);
  if (u >= job.columns) return;
  constexpr float kPerTile = 1.f / ops::kAirTile;
  const Place angle = PlaceOf(job.places[view], job.angles);
  const Place row = PlaceOf((v + 0.5f) * kPerTile - 0.5f, job.down);
  const Place column = PlaceOf((u + 0.5f) * kPerTile - 0.5f, job.across);
  float& pixel = job.frames[(static_cast<int64_t>(view) * job.rows + v) * job.columns + u];
  pixel /= AirOf(job, angle, row, column);
}

class CorrectAirSweep final : public ops::CorrectAirSweep {
 public:
  CorrectAirSweep(CudaSession& session, const ops::Calibration& calibration,
                  DeviceBuffer<float> sweep)
      : ops::CorrectAirSweep(calibration), session_(session), sweep_(std::move(sweep)) {
    job_.sweep = sweep_.data();
    job_.angles = static_cast<int>(calibration.air_sweep.angles.size());
    job_.down = ops::AirSweep::Blocks(detector().rows);
    job_.across = ops::AirSweep::Blocks(detector().columns);
    job_.rows = detector().rows;
    job_.columns = detector().columns;
  }

 private:
  absl::Status DoRun(std::span<const float> places, ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    for (size_t first = 0; first < places.size(); first += kViewsAtOnce) {
      const std::span<const float> part =
          places.subspan(first, std::min<size_t>(kViewsAtOnce, places.size() - first));
      SweepJob job = job_;
      job.frames = stack->data() + static_cast<int64_t>(first) * job.rows * job.columns;
      std::copy(part.begin(), part.end(), job.places);
      const dim3 grid((job.columns + kThreads - 1) / kThreads, job.rows,
                      static_cast<unsigned>(part.size()));
      AirSweepKernel<<<grid, kThreads, 0, session_.stream()>>>(job);
      ISO_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    }
    return absl::OkStatus();
  }

  CudaSession& session_;
  const DeviceBuffer<float> sweep_;
  SweepJob job_ = {};
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::CorrectAirSweep>> NewCorrectAirSweep(
    CudaSession& session, const ops::Calibration& calibration) {
  ISO_RETURN_IF_ERROR(session.MakeCurrent());
  const std::vector<float>& relative = calibration.air_sweep.relative;
  DeviceBuffer<float> sweep;
  if (!relative.empty()) {
    ISO_ASSIGN_OR_RETURN(sweep, DeviceBuffer<float>::Create(session.memory(), relative.size()));
    ISO_RETURN_IF_CUDA_ERROR(
        cudaMemcpy(sweep.data(), relative.data(), sweep.bytes(), cudaMemcpyHostToDevice));
  }
  return std::make_unique<CorrectAirSweep>(session, calibration, std::move(sweep));
}

int64_t CorrectAirSweepBytes(const ops::Extents&, const ops::Calibration& calibration) {
  return static_cast<int64_t>(calibration.air_sweep.relative.size() * sizeof(float));
}

}  // namespace isocenter::cuda
