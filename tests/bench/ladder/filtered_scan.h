// What back-projections are measured on: a head, filtered.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/views.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::bench {

struct FilteredScan {
  Trajectory matrices;
  Shape3 shape;               // views, rows, columns
  std::vector<float> images;  // of that shape: Σ w⁻² · p over views is attenuation in 1/mm
  double hu_per_attenuation = 0;

  HostView3<const float> view(int64_t first, int64_t count) const {
    return HostView3<const float>(images.data(), shape).slices(first, count);
  }
};

/// RabbitCT's detector (1248 x 960 pixels of 0.32 mm) with `binning` x `binning` pixels as one,
/// `views` over 200 degrees, of an analytic head: exact line integrals, FDK's weights, Ram-Lak
/// filter, on the CPU. Errors: those of plans, RESOURCE_EXHAUSTED.
absl::StatusOr<FilteredScan> MakeFilteredScan(int views, int binning);

/// The benchmark's cube of 256 mm.
VolumeGrid BenchmarkCube(int voxels);

}  // namespace isocenter::bench
