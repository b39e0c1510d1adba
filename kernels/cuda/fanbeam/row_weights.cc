#include "kernels/cuda/fanbeam/row_weights.h"

#include <vector>

namespace isocenter::cuda {

absl::StatusOr<FanBeamWeightTable> FanBeamWeightTable::Create(const CudaSession& session,
                                                              const FanBeamGeometry& geometry) {
  const int64_t count = Count(geometry);
  const ops::FanBeamRowWeights weights(geometry);
  std::vector<float> table;
  table.reserve(count);
  std::vector<double> row(geometry.channels);
  for (int view = 0; view < count / geometry.channels; ++view) {
    weights.Row(view, row);
    table.insert(table.end(), row.begin(), row.end());
  }
  FanBeamWeightTable made;
  ISO_ASSIGN_OR_RETURN(made.weights_, DeviceBuffer<float>::Create(session.memory(), count));
  made.stride_ = geometry.FullScan() ? 0 : geometry.channels;
  ISO_RETURN_IF_CUDA_ERROR(cudaMemcpy(made.weights_.data(), table.data(), count * sizeof(float),
                                      cudaMemcpyHostToDevice));
  return made;
}

}  // namespace isocenter::cuda
