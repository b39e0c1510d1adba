// Places in device memory that take turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "kernels/base/status_macros.h"
#include "kernels/cuda/device/owners.h"
#include "kernels/cuda/device/session.h"

namespace isocenter::cuda {

/// Two of them: while kernels read one, the other is uploaded. Each round is Begin, copies in the
/// session's upload stream, Ready, kernels in its kernel stream, Read.
class TurnedUploads {
 public:
  static absl::StatusOr<TurnedUploads> Create(CudaSession& session) {
    ISO_RETURN_IF_ERROR(session.MakeCurrent());
    ISO_ASSIGN_OR_RETURN(Place first, Place::Create());
    ISO_ASSIGN_OR_RETURN(Place second, Place::Create());
    return TurnedUploads(session, std::move(first), std::move(second));
  }

  /// The next place, of `bytes`, to copy to. Growing waits for the device: ask for the largest at
  /// once. Errors: RESOURCE_EXHAUSTED.
  absl::StatusOr<std::byte*> Begin(int64_t bytes) {
    now_ = 1 - now_;
    Place& place = places_[now_];
    ISO_RETURN_IF_ERROR(place.memory.Reserve(session_->memory(), bytes));
    ISO_RETURN_IF_CUDA_ERROR(cudaStreamWaitEvent(session_->upload_stream(), place.read.get()));
    return place.memory.data();
  }
  /// Kernels that are started from now on find what was copied.
  absl::Status Ready() {
    ISO_RETURN_IF_CUDA_ERROR(
        cudaEventRecord(places_[now_].uploaded.get(), session_->upload_stream()));
    return ToStatus(cudaStreamWaitEvent(session_->stream(), places_[now_].uploaded.get()),
                    "cudaStreamWaitEvent");
  }
  /// After the last kernel that reads the place. Returns when the copies have ended: the host's
  /// memory is its owner's again.
  absl::Status Read() {
    Place& place = places_[now_];
    ISO_RETURN_IF_CUDA_ERROR(cudaEventRecord(place.read.get(), session_->stream()));
    return ToStatus(cudaEventSynchronize(place.uploaded.get()), "cudaEventSynchronize");
  }

 private:
  struct Place {
    DeviceBuffer<std::byte> memory;
    Event uploaded, read;
    static absl::StatusOr<Place> Create() {
      ISO_ASSIGN_OR_RETURN(Event uploaded, Event::Create(cudaEventDisableTiming));
      ISO_ASSIGN_OR_RETURN(Event read, Event::Create(cudaEventDisableTiming));
      return Place{.memory = {}, .uploaded = std::move(uploaded), .read = std::move(read)};
    }
  };
  TurnedUploads(CudaSession& session, Place first, Place second)
      : session_(&session), places_{std::move(first), std::move(second)} {}

  CudaSession* session_;
  Place places_[2];
  int now_ = 0;
};

}  // namespace isocenter::cuda
