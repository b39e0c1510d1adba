#include <utility>
#include <vector>

#include "kernels/cuda/corrections/methods.h"
#include "kernels/ops/check.h"
#include "kernels/ops/defect_neighbours.h"

namespace isocenter::cuda {
namespace {

// A thread has one defective pixel of one frame.
__global__ void DefectKernel(const int32_t* defects, const int32_t* first_pair,
                             const ops::DefectPair* pairs, int count, int pixels, float* frames) {
  const int defect = blockIdx.x * blockDim.x + threadIdx.x;
  if (defect >= count) return;
  float* frame = frames + static_cast<int64_t>(blockIdx.y) * pixels;
  float sum = 0, weights = 0;
  for (int i = first_pair[defect]; i < first_pair[defect + 1]; ++i) {
    const ops::DefectPair pair = pairs[i];
    const float a = frame[pair.before], b = frame[pair.after];
    const float level = 0.02f * (a + b);
    const float weight = pair.inverse_square_length / ((a - b) * (a - b) + level * level + 1e-12f);
    sum += weight * (pair.before_weight * a + pair.after_weight * b);
    weights += weight;
  }
  frame[defects[defect]] = sum / weights;
}

template <class T>
absl::StatusOr<DeviceBuffer<T>> OnDevice(CudaSession& session, const std::vector<T>& values) {
  DeviceBuffer<T> buffer;
  if (values.empty()) return buffer;
  ISO_ASSIGN_OR_RETURN(buffer, DeviceBuffer<T>::Create(session.memory(), values.size()));
  ISO_RETURN_IF_CUDA_ERROR(
      cudaMemcpy(buffer.data(), values.data(), buffer.bytes(), cudaMemcpyHostToDevice));
  return buffer;
}

struct Neighbours {
  DeviceBuffer<int32_t> pixels, first_pair;
  DeviceBuffer<ops::DefectPair> pairs;
};

class InterpolateDefects final : public ops::InterpolateDefects {
 public:
  InterpolateDefects(CudaSession& session, const Detector& detector, Neighbours neighbours)
      : ops::InterpolateDefects(detector), session_(session), neighbours_(std::move(neighbours)) {}

 private:
  absl::Status DoRun(int64_t views, ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    const int defects = static_cast<int>(neighbours_.pixels.count());
    if (defects == 0 || views == 0) return absl::OkStatus();
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const dim3 grid((defects + 127) / 128, static_cast<unsigned>(views));
    DefectKernel<<<grid, 128, 0, session_.stream()>>>(
        neighbours_.pixels.data(), neighbours_.first_pair.data(), neighbours_.pairs.data(), defects,
        detector().rows * detector().columns, stack->data());
    return ToStatus(cudaGetLastError(), "DefectKernel");
  }

  CudaSession& session_;
  const Neighbours neighbours_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::InterpolateDefects>> NewInterpolateDefects(
    CudaSession& session, const ops::Calibration& calibration) {
  ISO_RETURN_IF_ERROR(session.MakeCurrent());
  const ops::DefectNeighbours found =
      ops::FindDefectNeighbours(calibration.defects, calibration.detector);
  Neighbours neighbours;
  ISO_ASSIGN_OR_RETURN(neighbours.pixels, OnDevice(session, found.pixels));
  ISO_ASSIGN_OR_RETURN(neighbours.first_pair, OnDevice(session, found.first_pair));
  ISO_ASSIGN_OR_RETURN(neighbours.pairs, OnDevice(session, found.pairs));
  return std::make_unique<InterpolateDefects>(session, calibration.detector, std::move(neighbours));
}

int64_t InterpolateDefectsBytes(const ops::Extents&, const ops::Calibration& calibration) {
  // Each has four pairs of neighbours at most.
  constexpr int64_t kEach = 2 * sizeof(int32_t) + 4 * sizeof(ops::DefectPair);
  return static_cast<int64_t>(calibration.defects.pixels.size() + 1) * kEach;
}

}  // namespace isocenter::cuda
