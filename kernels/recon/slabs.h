// How a volume is divided between devices and within one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/volume_grid.h"
#include "kernels/ops/device.h"

namespace isocenter::recon {

/// A run of slices that is reconstructed as one.
struct Slab {
  int device = 0;  // index among the job's devices
  int first_slice = 0;
  int slices = 0;
  friend bool operator==(const Slab&, const Slab&) = default;
};

/// The grid of a run of slices.
VolumeGrid SlicesOf(const VolumeGrid& grid, int first_slice, int slices);

/// In which order the work of a device is done.
enum class Order {
  /// Each chunk of views goes into all slabs at once: the slabs are in device memory together.
  kChunksFirst,
  /// Slab after slab: while one is computed the one before is downloaded.
  kSlabsFirst,
};

/// What is known when the work begins.
enum class Arrival {
  kStreamed,  // frames come one by one, and far between
  kComplete,  // all frames are in host memory
};

struct Division {
  Order order = Order::kChunksFirst;
  /// kSlabsFirst: the filtered projections stay in device memory; else every slab takes the frames
  /// from host memory again.
  bool keep_projections = false;
  std::vector<Slab> slabs;  // in order of their slices; each device has a run of them
  int64_t peak_bytes = 0;   // of the device that needs most, a preview included
};

/// Divides a volume evenly between devices and each device's share into slabs. `chunk_views` are
/// the largest chunk's. Errors: RESOURCE_EXHAUSTED (a device's memory limit; what is needed and the
/// limit).
absl::StatusOr<Division> DivideVolume(const VolumeGrid& grid, int views, int chunk_views, int rows,
                                      int columns, Arrival arrival,
                                      std::span<const ops::Device* const> devices);

}  // namespace isocenter::recon
