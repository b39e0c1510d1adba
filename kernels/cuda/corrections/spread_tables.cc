#include "kernels/cuda/corrections/spread_tables.h"

#include <cmath>

namespace isocenter::cuda {
namespace {

// What a block brings to one so far away is left out: with all that lie beyond, a hundredth of what
// float32 rounds.
constexpr double kNegligible = 1e-10;

double Weight(int blocks, double block_mm, double sigma_mm) {
  const double variance = sigma_mm * sigma_mm - block_mm * block_mm / 3;
  if (variance <= 0) return blocks == 0 ? 1 : 0;
  const double scale = block_mm / std::sqrt(2 * variance);
  return (std::erf((blocks + 0.5) * scale) - std::erf((blocks - 0.5) * scale)) / 2;
}

void AppendTable(int blocks, int floats, double pitch_mm, double sigma_mm, double factor,
                 std::vector<float>& tables) {
  const size_t begin = tables.size();
  int reach = 0;
  tables.push_back(0);
  for (int k = 0; k < blocks; ++k) {
    const double weight = Weight(k, ops::kCoarseBlock * pitch_mm, sigma_mm);
    if (weight > kNegligible) reach = k;
    tables.push_back(static_cast<float>(factor * weight));
  }
  tables[begin] = static_cast<float>(reach);
  tables.resize(begin + floats, 0.f);
}

}  // namespace

absl::StatusOr<DeviceBuffer<float>> NewTables(const Memory& memory, const Detector& detector,
                                              const std::vector<ScaledGaussian>& gaussians) {
  if (gaussians.empty()) return DeviceBuffer<float>();
  const BlockShape shape = BlockShape::Of(detector);
  const TableLayout layout = TableLayout::Of(shape, gaussians.size());
  std::vector<float> tables;
  for (const ScaledGaussian& gaussian : gaussians) {
    AppendTable(shape.columns, layout.along_row, detector.pitch_u_mm, gaussian.sigma_mm, 1, tables);
  }
  for (const ScaledGaussian& gaussian : gaussians) {
    AppendTable(shape.rows, layout.along_column, detector.pitch_v_mm, gaussian.sigma_mm,
                gaussian.factor, tables);
  }
  const auto count = static_cast<int64_t>(tables.size());
  ISO_ASSIGN_OR_RETURN(auto buffer, DeviceBuffer<float>::Create(memory, count));
  ISO_RETURN_IF_CUDA_ERROR(
      cudaMemcpy(buffer.data(), tables.data(), buffer.bytes(), cudaMemcpyHostToDevice));
  return buffer;
}

}  // namespace isocenter::cuda
