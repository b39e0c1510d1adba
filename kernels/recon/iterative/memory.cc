#include "kernels/recon/iterative/memory.h"

#include <vector>

#include "kernels/base/status_macros.h"
#include "kernels/recon/iterative/frame_store.h"
#include "kernels/recon/iterative/linear_system.h"
#include "kernels/recon/iterative/method.h"
#include "kernels/recon/iterative/piecewise_variation.h"
#include "kernels/recon/volume_exchange.h"

namespace isocenter::recon {

absl::StatusOr<MemoryParts> DevicePartsOf(const RefinementPlan& plan, int device,
                                          const ops::Registry& registry, const ops::Device& on) {
  const MethodNeeds needs = NeedsOf(plan);
  const std::vector<ViewChunk> chunks = ChunksOf(plan.subsets, plan.chunk_views);
  const ops::Extents extents{.stack = LargestStack(plan, chunks, device),
                             .grid = LargestPiece(plan, device)};
  ISO_ASSIGN_OR_RETURN(const LinearMethods methods,
                       LinearMethods::Find(plan.settings, registry, on.backend()));
  ISO_ASSIGN_OR_RETURN(const auto arithmetic, registry.arithmetic.Find(on.backend()));
  ISO_ASSIGN_OR_RETURN(const int64_t frames, FrameStore::DeviceBytes(plan, registry, device, on));
  ISO_ASSIGN_OR_RETURN(const int64_t exchange,
                       VolumeExchange::DeviceBytes(plan, registry, device, on));
  int64_t variation = 0;
  if (needs.variation) {
    ISO_ASSIGN_OR_RETURN(variation, PiecewiseVariation::DeviceBytes(plan, registry, on, extents));
  }
  // x and b, beside the method's.
  return MemoryParts{
      {"volumes", (1 + needs.volumes) * VolumeVector::DeviceBytes(plan, device, on) +
                      needs.pieces * VolumeVector::OnePieceDeviceBytes(plan, device, on)},
      {"projections",
       (1 + needs.projections) * ProjectionVector::DeviceBytes(plan, chunks, device, on)},
      {"projections of a chunk",
       needs.chunks * ProjectionVector::OneChunkDeviceBytes(plan, chunks, device, on)},
      {"masks and partial sums", LinearSystem::DeviceBytes(plan, chunks, device, on)},
      {"frames on their way", frames},
      {"slices on their way", exchange},
      {"prior", variation},
      {"projectors and arithmetic",
       methods.WorkspaceBytes(on, extents) + arithmetic.WorkspaceBytes(on, extents)}};
}

MemoryParts HostPartsOf(const RefinementPlan& plan) {
  const MethodNeeds needs = NeedsOf(plan);
  const std::vector<ViewChunk> chunks = ChunksOf(plan.subsets, plan.chunk_views);
  MemoryParts iterations{
      {"staging of frames", FrameStore::HostBytes(plan)},
      {"volumes that wait", (1 + needs.volumes) * VolumeVector::HostBytes(plan)},
      {"projections that wait", (1 + needs.projections) * ProjectionVector::HostBytes(plan)}};
  const MemoryPart weights{"weights on their way", LinearSystem::HostBytes(plan, chunks)};
  if (weights.bytes > 0) iterations.push_back(weights);
  MemoryParts parts{{"volume", VolumeBytes(plan.grid)},
                    {"a chunk of frames", MostViewsAtOnce(plan) * FrameBytes(plan.acquisition)},
                    {"calibration", CalibrationBytes(plan.acquisition)}};
  if (plan.warm_start) {
    parts.push_back({"weights of the warm start",
                     static_cast<int64_t>(plan.warm_start->column_weight.size() * sizeof(float))});
    // The iterations take their memory when the warm start has given its own back.
    const int64_t kept = plan.warm_start->kept_frames_bytes;
    if (kept > TotalBytes(iterations)) iterations = {{"frames that are needed again", kept}};
  }
  parts.insert(parts.end(), iterations.begin(), iterations.end());
  return parts;
}

}  // namespace isocenter::recon
