#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/cuda/corrections/second_pass_methods.h"
#include "kernels/ops/check.h"

namespace isocenter::cuda {
namespace {

struct Table {
  const float* added = nullptr;
  int across = 0, down = 0;
  float per_line_integral = 0, per_mm = 0;
};

__global__ void CorrectBoneKernel(Table table, const float* bone, int pixels, float* frames) {
  const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
  if (pixel >= pixels) return;
  const int64_t at = static_cast<int64_t>(blockIdx.y) * pixels + pixel;
  const float mm = bone[at], p = frames[at];
  // Without bone nothing is added.
  if (!(mm > 0)) return;
  const float last_x = static_cast<float>(table.across - 1);
  const float last_y = static_cast<float>(table.down - 1);
  const float x = fminf(fmaxf(p * table.per_line_integral, 0.f), last_x);
  const float y = fminf(mm * table.per_mm, last_y);
  const int i = min(static_cast<int>(x), table.across - 2);
  const int j = min(static_cast<int>(y), table.down - 2);
  const float dx = x - static_cast<float>(i), dy = y - static_cast<float>(j);
  const float* const near = table.added + j * table.across + i;
  const float* const far = near + table.across;
  const float before = near[0] + dx * (near[1] - near[0]);
  frames[at] = p + before + dy * (far[0] + dx * (far[1] - far[0]) - before);
}

class CorrectBone final : public ops::CorrectBone {
 public:
  CorrectBone(CudaSession& session, const ops::BoneTable& table, DeviceBuffer<float> added)
      : session_(session),
        added_(std::move(added)),
        table_{.added = added_.data(),
               .across = table.line_integrals,
               .down = table.bones,
               .per_line_integral =
                   static_cast<float>((table.line_integrals - 1) / table.most_line_integral),
               .per_mm = static_cast<float>((table.bones - 1) / table.most_bone_mm)} {}

 private:
  absl::Status DoRun(int64_t views, const ops::ProjectionStack& bone,
                     ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(const Stack* paths, AsStack(bone));
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    if (views == 0) return absl::OkStatus();
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const int pixels = static_cast<int>(stack->shape().middle * stack->shape().fast);
    const dim3 grid((pixels + 255) / 256, static_cast<unsigned>(views));
    CorrectBoneKernel<<<grid, 256, 0, session_.stream()>>>(table_, paths->data(), pixels,
                                                           stack->data());
    return ToStatus(cudaGetLastError(), "CorrectBoneKernel");
  }

  CudaSession& session_;
  const DeviceBuffer<float> added_;
  const Table table_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::CorrectBone>> NewCorrectBone(
    CudaSession& session, const ops::Calibration& calibration) {
  ISO_RETURN_IF_ERROR(ops::CheckHasBone(calibration));
  ISO_RETURN_IF_ERROR(session.MakeCurrent());
  const std::vector<float> added(calibration.bone->added.begin(), calibration.bone->added.end());
  ISO_ASSIGN_OR_RETURN(auto buffer, DeviceBuffer<float>::Create(
                                        session.memory(), static_cast<int64_t>(added.size())));
  ISO_RETURN_IF_CUDA_ERROR(
      cudaMemcpy(buffer.data(), added.data(), buffer.bytes(), cudaMemcpyHostToDevice));
  return std::make_unique<CorrectBone>(session, *calibration.bone, std::move(buffer));
}

int64_t CorrectBoneBytes(const ops::Extents&, const ops::Calibration& calibration) {
  return calibration.bone ? static_cast<int64_t>(calibration.bone->added.size() * sizeof(float))
                          : 0;
}

}  // namespace isocenter::cuda
