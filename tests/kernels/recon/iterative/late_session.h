// A session that copies as late as its contract allows, in the least favourable order.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/session.h"
#include "kernels/reference/device.h"

namespace isocenter::recon {

class LateVolume;

/// What its volumes copy waits until work is started on them or the session is waited for. Only
/// copies of one volume are in order.
class LateSession final : public ops::Session {
 public:
  LateSession() : Session(reference_) {}
  ops::Timeline& timeline() override { return timeline_; }
  absl::StatusOr<std::unique_ptr<ops::ProjectionStack>> NewProjectionStack(Shape3,
                                                                           ops::StackUse) override {
    return absl::UnimplementedError("projections");
  }
  absl::StatusOr<std::unique_ptr<ops::VolumeBuffer>> NewVolume(const VolumeGrid& grid) override;
  absl::Status Synchronize() override;

  /// What was asked for: "up 3" and "down 3" by the first voxel's index along z, "work", "wait".
  std::vector<std::string> log;

 private:
  friend class LateVolume;
  reference::ReferenceDevice reference_{ops::DeviceLimits{}};
  ops::HostTimeline timeline_;
  std::vector<LateVolume*> volumes_;
  bool backwards_ = false;
};

class LateVolume final : public ops::VolumeBuffer {
 public:
  LateVolume(LateSession& session, const VolumeGrid& grid)
      : session_(session), grid_(grid), values_(grid.voxels()) {
    session_.volumes_.push_back(this);
  }
  ~LateVolume() override { std::erase(session_.volumes_, this); }
  const VolumeGrid& grid() const override { return grid_; }
  int64_t bytes() const override { return grid_.voxels() * static_cast<int64_t>(sizeof(float)); }
  absl::Status Clear() override { return absl::UnimplementedError("Clear"); }
  absl::Status Regrid(const VolumeGrid&) override { return absl::UnimplementedError("Regrid"); }
  absl::Status Reshape(const VolumeGrid& grid) override {
    grid_ = grid;
    return absl::OkStatus();
  }
  absl::Status Upload(int64_t, HostView3<const float>) override {
    return absl::UnimplementedError("Upload");
  }
  absl::Status Download(int64_t, HostView3<float>) const override {
    return absl::UnimplementedError("Download");
  }
  absl::Status StartUpload(int64_t, HostView3<const float> slices) override {
    session_.log.push_back(absl::StrCat("up ", grid_.origin.z));
    pending_.push_back(
        [this, slices] { std::copy_n(slices.data(), slices.shape().count(), at()); });
    return absl::OkStatus();
  }
  absl::Status StartDownload(int64_t, HostView3<float> slices,
                             std::function<void()> arrived) override {
    session_.log.push_back(absl::StrCat("down ", grid_.origin.z));
    pending_.push_back([this, slices, arrived = std::move(arrived)] {
      std::copy_n(at(), slices.shape().count(), slices.data());
      if (arrived != nullptr) arrived();
    });
    return absl::OkStatus();
  }

  /// As a kernel that is started on the volume sees it.
  std::vector<float>& Work() {
    session_.log.push_back("work");
    Copy();
    return values_;
  }
  void Copy() {
    for (const auto& copy : std::exchange(pending_, {})) copy();
  }

 private:
  float* at() { return values_.data(); }

  LateSession& session_;
  VolumeGrid grid_;
  std::vector<float> values_;
  std::deque<std::function<void()>> pending_;
};

inline absl::StatusOr<std::unique_ptr<ops::VolumeBuffer>> LateSession::NewVolume(
    const VolumeGrid& grid) {
  return std::make_unique<LateVolume>(*this, grid);
}

inline absl::Status LateSession::Synchronize() {
  log.push_back("wait");
  std::vector<LateVolume*> volumes = volumes_;
  if (backwards_) std::reverse(volumes.begin(), volumes.end());
  backwards_ = !backwards_;
  for (LateVolume* volume : volumes) volume->Copy();
  return absl::OkStatus();
}

}  // namespace isocenter::recon
