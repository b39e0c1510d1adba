// Starts kernels that are written for teams (team.cuh).
#pragma once

#include <cuda_runtime.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/cuda/device/session.h"

namespace isocenter::cuda {

/// Blocks of threads that a team has on the session's device: as many as every device with
/// clusters can bring together, 1 on those without.
inline absl::StatusOr<int> TeamParts(const CudaSession& session) {
  int major = 0;
  ISO_RETURN_IF_CUDA_ERROR(
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, session.ordinal()));
  return major >= 9 ? 8 : 1;
}

/// Has `kernel` get as much shared memory as the session's device can give a block of threads, and
/// returns how many bytes that are. The same for all operations: it belongs to the kernel, which
/// jobs share. A little is left for what the kernel declares itself.
template <class Job>
absl::StatusOr<int64_t> AllowShared(void (*kernel)(Job), const CudaSession& session) {
  constexpr int kDeclared = 1 << 10;
  int most = 0;
  ISO_RETURN_IF_CUDA_ERROR(
      cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, session.ordinal()));
  ISO_RETURN_IF_CUDA_ERROR(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most - kDeclared));
  return most - kDeclared;
}

/// A team of `parts` blocks of `threads` for each view.
template <class Job>
absl::Status LaunchTeams(void (*kernel)(Job), int parts, int threads, int64_t views,
                         int64_t shared_bytes, cudaStream_t stream, const Job& job) {
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = static_cast<unsigned>(parts);
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(parts), static_cast<unsigned>(views));
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = static_cast<size_t>(shared_bytes);
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = parts > 1 ? 1 : 0;
  return ToStatus(cudaLaunchKernelEx(&config, kernel, job), "cudaLaunchKernelEx");
}

}  // namespace isocenter::cuda
