// The recipe of fan-beam slices: filter, back-project, Hounsfield units (kernels/ops/fan_beam.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/base/views.h"
#include "kernels/ops/fan_beam.h"
#include "kernels/ops/registry.h"

namespace isocenter::recon {

/// Channels beside the outer ones over which rows that the detector cuts fall linearly to zero, so
/// that the filter sees no edge there. Mendl et al. (2013), 3.2: none before and 64 after.
struct FanBeamDecrease {
  int before = 0, after = 0;
  friend bool operator==(const FanBeamDecrease&, const FanBeamDecrease&) = default;
};

struct FanBeamSettings {
  FanBeamDecrease decrease;
  ops::FanBeamKernelForm form = ops::FanBeamKernelForm::kExact;
  ops::FilterWindow window = ops::FilterWindow::kRamLak;
  double cutoff = 1;
  double mu_water_per_mm = 0.02;
  std::string backproject_method;  // empty: the backend's default
};

/// The scan as if it had these channels as well. Errors: INVALID_ARGUMENT (channels outside of 0 to
/// those of the scan; a scan that is none with them: a short one must cover the wider fan).
absl::StatusOr<FanBeamGeometry> WithDecrease(const FanBeamGeometry& geometry,
                                             const FanBeamDecrease& decrease);
/// Fills `wide`, of as many more channels, with the rows of `lines`, continued.
void Decrease(HostView3<const float> lines, const FanBeamDecrease& decrease, HostView3<float> wide);

/// Fills the line integrals [view][slice][channel] of the slices from `first`, as many as `lines`
/// has rows.
using ReadFanBeamSlices = std::function<absl::Status(int64_t first, HostView3<float> lines)>;

/// Fills `hounsfield` [z][y][x], which has the grid's shape, slice after slice: the device and the
/// host hold a few of them at once. Errors: INVALID_ARGUMENT (geometry, settings, grid), NOT_FOUND
/// (method), RESOURCE_EXHAUSTED, those of `read`.
absl::Status ReconstructFanBeam(const FanBeamGeometry& geometry, const VolumeGrid& grid,
                                const FanBeamSettings& settings, const ops::Registry& registry,
                                ops::Device& device, const ReadFanBeamSlices& read,
                                HostView3<float> hounsfield);

}  // namespace isocenter::recon
