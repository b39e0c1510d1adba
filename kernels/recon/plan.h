// The plan of one reconstruction: everything that is known before the first frame.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/volume_grid.h"
#include "kernels/ops/device.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/acquisition.h"
#include "kernels/recon/memory.h"
#include "kernels/recon/settings.h"
#include "kernels/recon/slabs.h"

namespace isocenter::recon {

/// Bytes of a volume in host memory.
inline int64_t VolumeBytes(const VolumeGrid& grid) {
  return grid.voxels() * static_cast<int64_t>(sizeof(float));
}

/// A run of consecutive views that is processed as one.
struct Chunk {
  int first_view = 0;
  int views = 0;
  friend bool operator==(const Chunk&, const Chunk&) = default;
};

/// Immutable once made. Streaming, batch and replay execute the same plan, which is why they agree
/// bit for bit.
struct ReconstructionPlan {
  Acquisition acquisition;
  VolumeGrid grid;
  FdkSettings settings;
  ops::HounsfieldScale hounsfield;  // the calibration's, else the settings'
  std::vector<float>
      column_weight;  // [view][u]: redundancy, angular step and pixel pitch at the isocentre
  /// What filtered projections are on: the acquisition's, whose columns begin at `first_column`,
  /// and where it is displaced those that it lacks to be centred: filtering spreads to them, too.
  Detector filtered_detector;
  int first_column = 0;
  double arc = 0;        // radians
  double fan_angle = 0;  // radians; see RedundancyOutline
  bool full_scan = false;
  std::vector<Chunk> chunks;  // in order; they cover all views
  Order order = Order::kChunksFirst;
  bool keep_projections = false;  // see Division
  std::vector<Slab> slabs;        // in order; they cover all slices
  std::string methods;            // names of the operations, for people
  int64_t kept_frames_bytes = 0;  // of host memory, when frames are needed again for each slab
  /// Of the device that needs most, with a preview.
  MemoryParts device_parts;
  /// Where frames come chunk by chunk: the volume, a chunk, and what the plan itself and the frames
  /// on their way take.
  MemoryParts host_parts;
  int64_t peak_bytes = 0;    // of device_parts: upper bound of the memory of each device
  int64_t host_bytes = 0;    // of host_parts: upper bound of the host's
  double voxel_updates = 0;  // voxels times views

  int views() const { return static_cast<int>(acquisition.trajectory.size()); }
};

/// Views of the plan's largest chunk.
int LargestChunk(const ReconstructionPlan& plan);

/// A pure function of its arguments. The devices, at least one and all of one kind, state only how
/// they like their work, and with the registry's methods how many bytes it takes.
/// `frames_on_their_way`: of those that have arrived, how many the caller may hold beside what the
/// plan is executed with; they count in host_bytes. Errors: INVALID_ARGUMENT (detector, trajectory,
/// grid, settings; the field, its value and what is legal), NOT_FOUND (a method that the backend
/// lacks; those that there are), RESOURCE_EXHAUSTED (what is needed and the device's limit).
absl::StatusOr<ReconstructionPlan> MakePlan(const Acquisition& acquisition, const VolumeGrid& grid,
                                            const FdkSettings& settings,
                                            const ops::Registry& registry,
                                            std::span<const ops::Device* const> devices,
                                            Arrival arrival = Arrival::kStreamed,
                                            int frames_on_their_way = 0);
inline absl::StatusOr<ReconstructionPlan> MakePlan(const Acquisition& acquisition,
                                                   const VolumeGrid& grid,
                                                   const FdkSettings& settings,
                                                   const ops::Registry& registry,
                                                   const ops::Device& device,
                                                   Arrival arrival = Arrival::kStreamed) {
  const ops::Device* const one[] = {&device};
  return MakePlan(acquisition, grid, settings, registry, one, arrival);
}

/// The same without column_weight, and with the same errors: what the reconstruction would take and
/// how it would be divided, at once and with next to no memory. Nothing can be executed with it.
absl::StatusOr<ReconstructionPlan> OutlinePlan(const Acquisition& acquisition,
                                               const VolumeGrid& grid, const FdkSettings& settings,
                                               const ops::Registry& registry,
                                               std::span<const ops::Device* const> devices,
                                               Arrival arrival = Arrival::kStreamed,
                                               int frames_on_their_way = 0);

/// Host memory that MakePlan itself takes for a while, at most.
int64_t PlanningBytes(const Acquisition& acquisition);

}  // namespace isocenter::recon
