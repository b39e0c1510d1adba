// How a volume is divided between devices and within one.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/volume_grid.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/memory.h"

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

/// What is to be divided, and what has its place in each device's memory beside it.
struct Work {
  VolumeGrid grid;
  int views = 0;
  Shape3 chunk;  // the largest one's views, rows, columns
  Arrival arrival = Arrival::kStreamed;
  /// What corrections of a chunk's frames take.
  int64_t corrections_bytes = 0;
  /// What the operations take for themselves on stacks and volumes of some extents.
  std::function<int64_t(const ops::Device&, const ops::Extents&)> workspace_bytes;
};

struct Division {
  Order order = Order::kChunksFirst;
  /// kSlabsFirst: the filtered projections stay in device memory; else every slab takes the frames
  /// from host memory again.
  bool keep_projections = false;
  std::vector<Slab> slabs;  // in order of their slices; each device has a run of them
  MemoryParts parts;        // of the device that needs most, a preview included
  int64_t peak_bytes = 0;   // their sum
};

/// Slices 0 to `slices` in runs for each of `devices`, as even as multiples of `step` allow, each
/// cut into runs of at most `most`; in order. With few slices the last devices get none.
std::vector<Slab> DivideSlices(int slices, int devices, int step, int most);

/// Divides a volume evenly between devices and each device's share into slabs. Errors:
/// RESOURCE_EXHAUSTED (a device's memory limit; what is needed and the limit).
absl::StatusOr<Division> DivideVolume(const Work& work,
                                      std::span<const ops::Device* const> devices);

/// Of one device's slabs, those that have memory of their own at the same time. Where they have
/// their turns (slab_turns.h) these are two of the size of the largest: one is computed
/// while the other is downloaded.
std::vector<Slab> SlabsInMemory(Order order, std::span<const Slab> slabs);

}  // namespace isocenter::recon
