// A volume in host memory that goes through a device in parts.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "kernels/ops/session.h"

namespace isocenter::rabbitct {

/// While one part is worked on, the one before leaves the device and the next one comes: two rooms
/// there hold parts in turn. Source: Zinsser & Keck, Fully3D 2013, section V. Not thread-safe.
class StreamedVolume {
 public:
  /// Parts of `slices` slices; the last one has what is left. Errors: RESOURCE_EXHAUSTED.
  static absl::StatusOr<std::unique_ptr<StreamedVolume>> Create(const VolumeGrid& grid, int slices,
                                                                ops::Session& session);

  int parts() const { return (grid_.nz + slices_ - 1) / slices_; }

  /// Calls `add` for each part, which starts work that adds to it, and waits for all. In the first
  /// pass parts begin with zeros.
  absl::Status Pass(const std::function<absl::Status(ops::VolumeBuffer& part)>& add);
  /// Whether there was one.
  bool passed() const { return passed_; }

  /// [z][y][x]; after the first pass.
  HostView3<float> voxels() { return {reinterpret_cast<float*>(memory_->data()), grid_.shape()}; }

 private:
  StreamedVolume(const VolumeGrid& grid, int slices, ops::Session& session)
      : grid_(grid), slices_(slices), session_(session) {}
  VolumeGrid GridOf(int part) const;
  ops::VolumeBuffer& RoomOf(int part) { return *rooms_[part % 2]; }
  HostView3<float> VoxelsOf(int part) {
    return voxels().slices(int64_t{part} * slices_, GridOf(part).nz);
  }
  absl::Status StartComing(int part);

  const VolumeGrid grid_;
  const int slices_;
  ops::Session& session_;
  std::unique_ptr<ops::HostMemory> memory_;
  std::unique_ptr<ops::VolumeBuffer> rooms_[2];
  bool passed_ = false;
};

}  // namespace isocenter::rabbitct
