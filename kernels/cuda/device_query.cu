#include <cuda_runtime_api.h>

#include "kernels/cuda/device_query.h"

namespace isocenter::cuda {

DeviceQuery QueryDevices() {
  DeviceQuery query;
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  for (int device = 0; error == cudaSuccess && device < count; ++device) {
    cudaDeviceProp properties;
    error = cudaGetDeviceProperties(&properties, device);
    if (error == cudaSuccess) query.names.emplace_back(properties.name);
  }
  if (query.names.empty()) {
    query.reason = error == cudaSuccess ? "no device" : cudaGetErrorString(error);
    cudaGetLastError();  // The run-time library keeps the error until it is read.
  }
  return query;
}

}  // namespace isocenter::cuda
