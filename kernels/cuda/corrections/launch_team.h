// Starts kernels that are written for teams (team.cuh).
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

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

/// How teams are launched: `parts` blocks of `threads` for each view.
class TeamLaunch {
 public:
  TeamLaunch(int parts, int threads, int64_t views, int64_t shared_bytes, cudaStream_t stream) {
    cluster_.id = cudaLaunchAttributeClusterDimension;
    cluster_.val.clusterDim.x = static_cast<unsigned>(parts);
    cluster_.val.clusterDim.y = cluster_.val.clusterDim.z = 1;
    config_.gridDim = dim3(static_cast<unsigned>(parts), static_cast<unsigned>(views));
    config_.blockDim = dim3(static_cast<unsigned>(threads));
    config_.dynamicSmemBytes = static_cast<size_t>(shared_bytes);
    config_.stream = stream;
    config_.attrs = &cluster_;
    config_.numAttrs = parts > 1 ? 1 : 0;
  }
  TeamLaunch(const TeamLaunch&) = delete;
  TeamLaunch& operator=(const TeamLaunch&) = delete;
  const cudaLaunchConfig_t& config() const { return config_; }

 private:
  cudaLaunchAttribute cluster_ = {};
  cudaLaunchConfig_t config_ = {};
};

/// A team for each view.
template <class Job>
absl::Status LaunchTeams(void (*kernel)(Job), int parts, int threads, int64_t views,
                         int64_t shared_bytes, cudaStream_t stream, const Job& job) {
  const TeamLaunch launch(parts, threads, views, shared_bytes, stream);
  return ToStatus(cudaLaunchKernelEx(&launch.config(), kernel, job), "cudaLaunchKernelEx");
}

/// Teams that the current device has room for at the same time, at least 1.
template <class Job>
absl::StatusOr<int64_t> TeamsAtOnce(void (*kernel)(Job), int parts, int threads,
                                    int64_t shared_bytes) {
  int teams = 0;
  if (parts > 1) {
    const TeamLaunch launch(parts, threads, 1, shared_bytes, nullptr);
    ISO_RETURN_IF_CUDA_ERROR(cudaOccupancyMaxActiveClusters(&teams, kernel, &launch.config()));
    return std::max(1, teams);
  }
  int device = 0, processors = 0;
  ISO_RETURN_IF_CUDA_ERROR(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &teams, kernel, threads, static_cast<size_t>(shared_bytes)));
  ISO_RETURN_IF_CUDA_ERROR(cudaGetDevice(&device));
  ISO_RETURN_IF_CUDA_ERROR(
      cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  return std::max(1, teams) * int64_t{processors};
}

}  // namespace isocenter::cuda
