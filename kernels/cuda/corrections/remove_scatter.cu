#include <algorithm>
#include <cstdint>

#include "kernels/cuda/corrections/second_pass_methods.h"
#include "kernels/ops/check.h"

namespace isocenter::cuda {
namespace {

constexpr int kCoefficients = 6;

// c[0] p + c[1] p² + ...: as many terms as there may be, so that they stay in registers.
struct Polynomial {
  float c[kCoefficients] = {1.f};
};

struct Cells {
  const float* scatter = nullptr;
  int across = 0, down = 0;
};

__device__ float At(const float* line, int last, float x) {
  const int i = static_cast<int>(x);
  return line[i] + (x - static_cast<float>(i)) * (line[min(i + 1, last)] - line[i]);
}

__global__ void RemoveScatterKernel(Polynomial water, Cells cells, float least, float most,
                                    int columns, int rows, float* frames) {
  const int pixel = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (pixel >= columns * rows) return;
  const int v = pixel / columns, u = pixel - v * columns;
  const float x = (u + 0.5f) * cells.across / columns - 0.5f;
  const float y = (v + 0.5f) * cells.down / rows - 0.5f;
  const float within_x = fminf(fmaxf(x, 0.f), static_cast<float>(cells.across - 1));
  const float within_y = fminf(fmaxf(y, 0.f), static_cast<float>(cells.down - 1));
  const int j = static_cast<int>(within_y);
  const float* const view =
      cells.scatter + static_cast<int64_t>(blockIdx.y) * cells.across * cells.down;
  const float above = At(view + j * cells.across, cells.across - 1, within_x);
  const float below =
      At(view + min(j + 1, cells.down - 1) * cells.across, cells.across - 1, within_x);
  const float scatter = above + (within_y - static_cast<float>(j)) * (below - above);
  float* const at = frames + static_cast<int64_t>(blockIdx.y) * columns * rows + pixel;
  const float measured = *at;
  const float share = fmaxf(1.f - scatter * expf(measured), least);
  const float p = fminf(measured - logf(share), most);
  float sum = water.c[kCoefficients - 1];
#pragma unroll
  for (int n = kCoefficients - 2; n >= 0; --n) sum = fmaf(sum, p, water.c[n]);
  *at = sum * p;
}

class RemoveScatter final : public ops::RemoveScatter {
 public:
  RemoveScatter(CudaSession& session, const ops::Calibration& calibration) : session_(session) {
    const auto& coefficients = calibration.water.coefficient;
    std::copy(coefficients.begin(), coefficients.end(), water_.c);
  }

 private:
  absl::Status DoRun(int64_t views, const ops::ProjectionStack& scatter,
                     ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(const Stack* cells, AsStack(scatter));
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    if (views == 0) return absl::OkStatus();
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const auto columns = static_cast<int>(stack->shape().fast);
    const auto rows = static_cast<int>(stack->shape().middle);
    const dim3 grid((columns * rows + 255) / 256, static_cast<unsigned>(views));
    RemoveScatterKernel<<<grid, 256, 0, session_.stream()>>>(
        water_,
        {.scatter = cells->data(),
         .across = static_cast<int>(cells->shape().fast),
         .down = static_cast<int>(cells->shape().middle)},
        static_cast<float>(ops::kLeastUnscattered), static_cast<float>(ops::kLongestLineIntegral),
        columns, rows, stack->data());
    return ToStatus(cudaGetLastError(), "RemoveScatterKernel");
  }

  CudaSession& session_;
  Polynomial water_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::RemoveScatter>> NewRemoveScatter(
    CudaSession& session, const ops::Calibration& calibration) {
  return std::make_unique<RemoveScatter>(session, calibration);
}

}  // namespace isocenter::cuda
