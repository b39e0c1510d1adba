#include "kernels/cuda/corrections/spread_tables.h"

#include <cmath>

namespace isocenter::cuda {
namespace {

void AppendTable(int blocks, int floats, double pitch_mm, const ScaledGaussian& gaussian,
                 bool scaled, std::vector<float>& tables) {
  const double d = ops::kCoarseBlock * pitch_mm;
  const double variance = gaussian.sigma_mm * gaussian.sigma_mm - d * d / 3;
  for (int k = 0; k < blocks; ++k) {
    double weight = k == 0 ? 1 : 0;
    if (variance > 0) {
      const double scale = d / std::sqrt(2 * variance);
      weight = (std::erf((k + 0.5) * scale) - std::erf((k - 0.5) * scale)) / 2;
    }
    tables.push_back(static_cast<float>(scaled ? gaussian.factor * weight : weight));
  }
  tables.insert(tables.end(), floats - blocks, 0.f);
}

}  // namespace

absl::StatusOr<DeviceBuffer<float>> NewTables(const Memory& memory, const Detector& detector,
                                              const std::vector<ScaledGaussian>& gaussians) {
  if (gaussians.empty()) return DeviceBuffer<float>();
  const BlockShape shape = BlockShape::Of(detector);
  const TableLayout layout = TableLayout::Of(shape, gaussians.size());
  std::vector<float> tables;
  for (const ScaledGaussian& gaussian : gaussians) {
    AppendTable(shape.columns, layout.along_row, detector.pitch_u_mm, gaussian, false, tables);
  }
  for (const ScaledGaussian& gaussian : gaussians) {
    AppendTable(shape.rows, layout.along_column, detector.pitch_v_mm, gaussian, true, tables);
  }
  const auto count = static_cast<int64_t>(tables.size());
  ISO_ASSIGN_OR_RETURN(auto buffer, DeviceBuffer<float>::Create(memory, count));
  ISO_RETURN_IF_CUDA_ERROR(
      cudaMemcpy(buffer.data(), tables.data(), buffer.bytes(), cudaMemcpyHostToDevice));
  return buffer;
}

}  // namespace isocenter::cuda
