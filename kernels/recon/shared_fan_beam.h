// One fan-beam slice on several devices (kernels/ops/fan_beam.h).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/fan_beam.h"

namespace isocenter::recon {

/// What devices share of a slice.
enum class FanBeamShare {
  kRows,   // each has rows of the image and all views
  kViews,  // each has views and the whole image; images are added up on the first
};

/// Filter, back-projection, and what it takes to share them. Of a full scan whose views can be
/// dealt out so that four divides each device's, each has every n-th one, a full scan itself, so
/// that methods by quarter turns stay such; else each has a run of them. A device's methods by
/// quarter turns are of no use for rows, which are no square. Not thread-safe.
class SharedFanBeam {
 public:
  /// `grid` has one slice. The devices are of one backend and outlive this. Errors:
  /// INVALID_ARGUMENT (geometry, settings, grid, more devices than rows or views), NOT_FOUND
  /// (method), RESOURCE_EXHAUSTED.
  static absl::StatusOr<std::unique_ptr<SharedFanBeam>> Create(
      const FanBeamGeometry& geometry, const VolumeGrid& grid, const FanBeamSettings& settings,
      const ops::Registry& registry, std::span<ops::Device* const> devices, FanBeamShare share);

  /// Line integrals [view][1][channel] of the whole scan; what Run adds begins with zeros again.
  absl::Status Upload(HostView3<const float> lines);
  /// Filters and back-projects on all devices at once, and waits. Once after each Upload.
  absl::Status Run();
  /// The image, 1/mm.
  absl::Status Download(HostView3<float> image);

 private:
  // What a device does.
  struct Part {
    std::unique_ptr<ops::Session> session;  // before all that lives in it
    FanBeamGeometry geometry;               // of its views
    int first_view = 0;                     // in that geometry
    std::vector<int> views;                 // of the scan
    int first_row = 0;
    std::unique_ptr<ops::ProjectionStack> stack;
    std::unique_ptr<ops::VolumeBuffer> image;
    std::unique_ptr<ops::FanBeamFilter> filter;
    std::unique_ptr<ops::FanBeamBackproject> backproject;
  };

  SharedFanBeam(const FanBeamGeometry& geometry, const VolumeGrid& grid, FanBeamShare share)
      : geometry_(geometry), grid_(grid), share_(share) {}
  void ShareViews(int devices);
  VolumeGrid ShareRows(int device, int devices);
  absl::Status Open(const FanBeamSettings& settings, const ops::Registry& registry,
                    ops::Device& device, const VolumeGrid& grid, Part& part);

  const FanBeamGeometry geometry_;
  const VolumeGrid grid_;
  const FanBeamShare share_;
  double sum_factor_ = 1;  // of the sum of images
  std::vector<Part> parts_;
  std::unique_ptr<ops::Arithmetic> arithmetic_;  // of the first device
  std::unique_ptr<ops::VolumeBuffer> arriving_;  // there, an image of another one
};

}  // namespace isocenter::recon
