// Volumes between a device and host memory that is not page-locked.
#pragma once

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "kernels/base/thread_pool.h"
#include "kernels/base/views.h"
#include "kernels/ops/session.h"

namespace isocenter::recon {

/// Copies slices with several threads. Errors: INVALID_ARGUMENT (a value that is not finite).
absl::Status CopyFinite(HostView3<const float> from, ThreadPool& threads, HostView3<float> to);

/// By way of two parts of page-locked memory: threads copy some slices while the device copies
/// others. Not thread-safe.
class StagedCopies {
 public:
  /// All must outlive it; `locked` has LeastBytes or more of the grids that are copied.
  StagedCopies(ops::Session& session, ThreadPool& threads, std::span<float> locked)
      : session_(session), threads_(threads), locked_(locked) {}
  static int64_t LeastBytes(const VolumeGrid& grid);

  /// Both wait. Errors: a device's, INVALID_ARGUMENT (a value that is not finite; the volume has
  /// the slices before it).
  absl::Status Upload(HostView3<const float> from, ops::VolumeBuffer& to);
  absl::Status Download(ops::VolumeBuffer& from, HostView3<float> to);

 private:
  /// As many slices as a part has room for.
  int64_t SlicesAtOnce(Shape3 volume) const;
  HostView3<float> Part(int64_t turn, Shape3 slices) const;

  ops::Session& session_;
  ThreadPool& threads_;
  const std::span<float> locked_;
};

}  // namespace isocenter::recon
