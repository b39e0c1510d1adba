#include "kernels/recon/plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/geometry/redundancy.h"
#include "kernels/recon/completeness/grid_coverage.h"
#include "kernels/recon/fdk_methods.h"
#include "kernels/recon/frame_corrector.h"
#include "kernels/recon/gating/gating.h"

namespace isocenter::recon {
namespace {

// How views are cut into chunks.
struct ChunkTable {
  std::vector<int> first;
  int size;
  // The end of an acquisition is cut finer: what is left to do after the last frame is the last
  // chunk.
  std::vector<int> last;
};

// With memory of its own a device is fast, and while frames arrive it waits for them: chunks are as
// small as keeps it ahead. Six frames are a fifth of a second at 30 frames/s, which is how old a
// preview is when it is due. Each chunk reads and writes the volume once: 1.07 GB at 512³ and 8.6
// GB at 1024³, or 0.36 and 2.9 ms at 3 TB/s, and at 1e12 updates/s it takes 0.8 and 6.4 ms to add
// six views, of the 200 ms until the next chunk is there. After the last frame two views are left:
// 0.6 and 5.0 ms.
const ChunkTable kStreamedToDevice = {.first = {}, .size = 6, .last = {4, 2}};

ChunkTable TableFor(const ops::DeviceTraits& traits, Arrival arrival) {
  if (traits.own_memory && arrival == Arrival::kStreamed) return kStreamedToDevice;
  if (traits.own_memory) {
    // Nobody waits for the last frame, but until the first chunk has arrived the device has nothing
    // to do (Zinsser & Keck 2013, figure 3).
    return {.first = {8, 16, 24}, .size = traits.chunk_views, .last = {}};
  }
  return {.first = {}, .size = traits.chunk_views, .last = {8, 4, 4}};
}

std::vector<Chunk> MakeChunks(int views, const ChunkTable& table) {
  std::vector<Chunk> chunks;
  int next = 0;
  const auto add = [&](int count) {
    chunks.push_back({next, count});
    next += count;
  };
  for (const int first : table.first) {
    if (first < table.size && views - next >= 2 * table.size) add(first);
  }
  const int at_end = std::accumulate(table.last.begin(), table.last.end(), 0);
  while (views - next > at_end) add(std::min(table.size, views - next - at_end));
  for (const int last : table.last) {
    if (next < views) add(std::min(last, views - next));
  }
  return chunks;
}

// f = Σ Δβ · redundancy · w⁻² · (filtered row / pixel pitch at the isocentre): the unit-pitch
// kernel becomes the sampled ramp of the virtual detector through the isocentre (Kak & Slaney 1988,
// section 3.4).
absl::StatusOr<std::vector<float>> ColumnWeights(const Acquisition& acquisition,
                                                 const RedundancyTable& redundancy) {
  std::vector<float> weights;
  weights.reserve(redundancy.weight.size());
  const size_t columns = acquisition.detector.columns;
  for (size_t view = 0; view < acquisition.trajectory.size(); ++view) {
    ISO_ASSIGN_OR_RETURN(const Camera camera, Decompose(acquisition.trajectory[view]));
    const double pixels_per_mm = camera.focal_u_px / camera.isocenter_depth_mm;
    const double scale = redundancy.angular_step[view] * pixels_per_mm;
    for (size_t u = 0; u < columns; ++u) {
      weights.push_back(static_cast<float>(scale * redundancy.weight[view * columns + u]));
    }
  }
  return weights;
}

int RoundUp(int value, int multiple) { return (value + multiple - 1) / multiple * multiple; }

int64_t WeightBytes(const Acquisition& acquisition, size_t bytes_each) {
  return static_cast<int64_t>(acquisition.trajectory.size() * acquisition.detector.columns *
                              bytes_each);
}

MemoryParts HostPartsOf(const ReconstructionPlan& plan, int frames_on_their_way) {
  const int64_t frame = FrameBytes(plan.acquisition);
  return {{"volume", VolumeBytes(plan.grid)},
          {"a chunk of frames", LargestChunk(plan) * frame},
          {"calibration", CalibrationBytes(plan.acquisition)},
          {"weights", WeightBytes(plan.acquisition, sizeof(float))},
          {"frames that are needed again", plan.kept_frames_bytes},
          {"frames on their way", frames_on_their_way * frame}};
}

}  // namespace

int LargestChunk(const ReconstructionPlan& plan) {
  int views = 0;
  for (const Chunk& chunk : plan.chunks) views = std::max(views, chunk.views);
  return views;
}

int64_t PlanningBytes(const Acquisition& acquisition) {
  // The redundancy table, and the plan's copy of it.
  const int64_t columns = acquisition.detector.columns;
  const auto views = static_cast<int64_t>(acquisition.whole_trajectory().size());
  return views * columns * static_cast<int64_t>(sizeof(double)) +
         WeightBytes(acquisition, sizeof(float));
}

absl::StatusOr<ReconstructionPlan> OutlinePlan(const Acquisition& acquisition,
                                               const VolumeGrid& grid, const FdkSettings& settings,
                                               const ops::Registry& registry,
                                               std::span<const ops::Device* const> devices,
                                               Arrival arrival, int frames_on_their_way) {
  ISO_RETURN_IF_ERROR(ValidateAcquisition(acquisition));
  ISO_RETURN_IF_ERROR(ValidateGrid(grid));
  ISO_RETURN_IF_ERROR(ValidateFdkSettings(settings));
  ISO_RETURN_IF_ERROR(CheckGridIsSeen(acquisition, grid));
  const Detector& detector = acquisition.detector;
  ISO_ASSIGN_OR_RETURN(
      const RedundancyOutline redundancy,
      OutlineRedundancy(acquisition.whole_trajectory(), detector, settings.redundancy));

  ReconstructionPlan plan{.acquisition = acquisition, .grid = grid, .settings = settings};
  plan.hounsfield = HounsfieldScaleOf(acquisition, settings);
  plan.arc = redundancy.arc;
  plan.fan_angle = redundancy.fan_angle;
  plan.full_scan = redundancy.full_scan;
  plan.first_column = RoundUp(redundancy.columns_lacking_before, ops::kColumnAlignment);
  plan.filtered_detector = detector;
  plan.filtered_detector.columns += plan.first_column + redundancy.columns_lacking_after;
  ISO_ASSIGN_OR_RETURN(const FdkMethods methods, FdkMethods::Find(settings, plan.filtered_detector,
                                                                  registry, devices[0]->backend()));
  plan.methods = methods.description;
  plan.chunks = MakeChunks(plan.views(), TableFor(devices[0]->traits(), arrival));
  plan.voxel_updates = static_cast<double>(grid.voxels()) * plan.views();

  // The devices are of one kind.
  ISO_ASSIGN_OR_RETURN(
      const int64_t corrections_bytes,
      FrameCorrector::DeviceBytes(acquisition, LargestChunk(plan), registry, *devices[0]));
  ISO_ASSIGN_OR_RETURN(
      Division division,
      DivideVolume({.grid = grid,
                    .views = plan.views(),
                    .chunk = {LargestChunk(plan), detector.rows, plan.filtered_detector.columns},
                    .arrival = arrival,
                    .corrections_bytes = corrections_bytes,
                    .workspace_bytes =
                        [&](const ops::Device& device, const ops::Extents& extents) {
                          return methods.WorkspaceBytes(device, extents);
                        }},
                   devices));
  plan.order = division.order;
  plan.keep_projections = division.keep_projections;
  plan.slabs = std::move(division.slabs);
  if (plan.order == Order::kSlabsFirst && !plan.keep_projections && arrival == Arrival::kStreamed) {
    plan.kept_frames_bytes = plan.views() * FrameBytes(acquisition);
  }
  plan.device_parts = std::move(division.parts);
  plan.peak_bytes = division.peak_bytes;
  plan.host_parts = HostPartsOf(plan, frames_on_their_way);
  plan.host_bytes = TotalBytes(plan.host_parts);
  return plan;
}

absl::StatusOr<ReconstructionPlan> MakePlan(const Acquisition& acquisition, const VolumeGrid& grid,
                                            const FdkSettings& settings,
                                            const ops::Registry& registry,
                                            std::span<const ops::Device* const> devices,
                                            Arrival arrival, int frames_on_their_way) {
  ISO_ASSIGN_OR_RETURN(ReconstructionPlan plan, OutlinePlan(acquisition, grid, settings, registry,
                                                            devices, arrival, frames_on_their_way));
  ISO_ASSIGN_OR_RETURN(
      RedundancyTable redundancy,
      ComputeRedundancy(acquisition.whole_trajectory(), acquisition.detector, settings.redundancy));
  if (acquisition.gated != nullptr) {
    KeepChosenViews(acquisition.gated->chosen, redundancy);
  }
  ISO_ASSIGN_OR_RETURN(plan.column_weight, ColumnWeights(acquisition, redundancy));
  return plan;
}

}  // namespace isocenter::recon
