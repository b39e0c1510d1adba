// The plan of one reconstruction: everything that is known before the first frame.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/redundancy.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/geometry/volume_grid.h"
#include "kernels/ops/device.h"
#include "kernels/ops/operations.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/slabs.h"

namespace isocenter::recon {

enum class PixelType { kUint16Counts, kFloat32LineIntegrals };

/// Bytes of one pixel as it is streamed.
constexpr int64_t PixelBytes(PixelType type) { return type == PixelType::kUint16Counts ? 2 : 4; }

/// What is to be done, as a protocol states it.
struct FdkSettings {
  ops::FilterWindow window = ops::FilterWindow::kRamLak;
  double cutoff = 1.0;
  RedundancyWeighting redundancy = RedundancyWeighting::kAuto;
  bool extend_truncated_rows = false;
  double mu_water_per_mm = 0.02;
  ops::Precision precision = ops::Precision::kExact;
  /// Method of the back-projection in the registry; empty: the backend's default for `precision`.
  std::string backproject_method;
};

/// What was (or will be) acquired.
struct Acquisition {
  Detector detector;
  PixelType pixel_type = PixelType::kUint16Counts;
  double i0_counts = 65535;
  Trajectory trajectory;  // planned; normalised
};

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
  std::vector<float>
      column_weight;     // [view][u]: redundancy, angular step and pixel pitch at the isocentre
  double arc = 0;        // radians
  double fan_angle = 0;  // radians; see RedundancyTable
  bool full_scan = false;
  std::vector<Chunk> chunks;  // in order; they cover all views
  Order order = Order::kChunksFirst;
  bool keep_projections = false;  // see Division
  std::vector<Slab> slabs;        // in order; they cover all slices
  int64_t peak_bytes = 0;         // upper bound of the memory of each device, with a preview
  int64_t kept_frames_bytes = 0;  // of host memory, when frames are needed again for each slab
  double voxel_updates = 0;       // voxels times views

  int views() const { return static_cast<int>(acquisition.trajectory.size()); }
};

/// Views of the plan's largest chunk.
int LargestChunk(const ReconstructionPlan& plan);

/// A pure function of its arguments. The devices, at least one and all of one kind, state only how
/// they like their work and how many bytes it takes. Errors: INVALID_ARGUMENT (detector,
/// trajectory, grid, settings; the field, its value and what is legal), RESOURCE_EXHAUSTED (what is
/// needed and the device's limit).
absl::StatusOr<ReconstructionPlan> MakePlan(const Acquisition& acquisition, const VolumeGrid& grid,
                                            const FdkSettings& settings,
                                            std::span<const ops::Device* const> devices,
                                            Arrival arrival = Arrival::kStreamed);
inline absl::StatusOr<ReconstructionPlan> MakePlan(const Acquisition& acquisition,
                                                   const VolumeGrid& grid,
                                                   const FdkSettings& settings,
                                                   const ops::Device& device,
                                                   Arrival arrival = Arrival::kStreamed) {
  const ops::Device* const one[] = {&device};
  return MakePlan(acquisition, grid, settings, one, arrival);
}

/// The checks of MakePlan that need no grid: detector 1..8192 pixels and 0..10 mm,
/// i0 1..65535, 1..10000 views, each matrix normalised with the isocentre in front of the source.
/// Errors: INVALID_ARGUMENT naming the field and the view.
absl::Status ValidateAcquisition(const Acquisition& acquisition);

}  // namespace isocenter::recon
