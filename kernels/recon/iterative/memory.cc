#include "kernels/recon/iterative/memory.h"

#include <algorithm>
#include <vector>

#include "kernels/base/status_macros.h"
#include "kernels/recon/iterative/host_parts.h"
#include "kernels/recon/iterative/linear_operators.h"
#include "kernels/recon/iterative/subsets.h"

namespace isocenter::recon {
namespace {

bool HasVariation(Algorithm algorithm) {
  return algorithm == Algorithm::kOsSqs || algorithm == Algorithm::kAsdPocs ||
         algorithm == Algorithm::kFistaTv;
}

}  // namespace

VectorCounts CountVectors(const RefinementPlan& plan) {
  const int column_sums = plan.keep_column_sums ? static_cast<int>(plan.subsets.size()) : 1;
  const int weights = plan.settings.statistical_weights ? 1 : 0;
  switch (plan.settings.algorithm) {
    case Algorithm::kSirt:
    case Algorithm::kSart:
    case Algorithm::kOsSart:
      return {.volumes = 2 + column_sums, .projections = 2, .chunks = 1};
    case Algorithm::kAsdPocs:
      return {.volumes = 3 + column_sums, .projections = 2, .chunks = 1};
    case Algorithm::kCgls:
      return {.volumes = 3, .projections = 2 + weights, .chunks = 1};
    case Algorithm::kLsqr:
      return {.volumes = 3, .projections = 1 + weights, .chunks = 1};
    case Algorithm::kOsSqs:
      return {.volumes = 4, .projections = 1, .chunks = 2};
    case Algorithm::kFistaTv:
      return {.volumes = 6, .projections = 1, .chunks = 1};
  }
  return {};
}

VolumeGrid LargestPiece(const RefinementPlan& plan, int device) {
  VolumeGrid largest;
  for (const Piece& piece : plan.pieces) {
    if (piece.device != device) continue;
    const VolumeGrid& grid = piece.grid;
    const VolumeGrid before = largest;
    largest = grid;
    largest.nx = std::max(before.nx, grid.nx);
    largest.ny = std::max(before.ny, grid.ny);
    largest.nz = std::max(before.nz, grid.nz);
  }
  return largest;
}

absl::StatusOr<int64_t> DeviceBytes(const RefinementPlan& plan, int device,
                                    const ops::Registry& registry, ops::Session& session) {
  ISO_ASSIGN_OR_RETURN(const LinearOperators operators,
                       LinearOperators::Create(plan.settings, registry, session));
  const VectorCounts counts = CountVectors(plan);
  const VolumeGrid largest = LargestPiece(plan, device);
  int64_t piece_bytes = 0, mask_bytes = 0;
  int pieces = 0;
  for (const Piece& piece : plan.pieces) {
    if (piece.device != device) continue;
    ++pieces;
    piece_bytes += session.device().VolumeBytes(piece.grid);
    if (piece.surroundings) mask_bytes += session.device().VolumeBytes(piece.grid);
  }
  if (plan.pieces_in_host) {
    piece_bytes = HostParts<VolumeParts>::Rooms(pieces) * session.device().VolumeBytes(largest);
  }

  const int64_t rows = plan.rows[device].seen.count;
  const int columns = plan.acquisition.detector.columns;
  const auto stack_bytes = [&](const Shape3& shape, ops::StackUse use) {
    return session.device().ProjectionStackBytes(shape, use);
  };
  const Shape3 chunk{plan.chunk_views, rows, columns};
  const int64_t chunk_bytes = stack_bytes(chunk, ops::StackUse::kProjections);
  int64_t projection_bytes = 0;
  const std::vector<ViewChunk> chunks = ChunksOf(plan.subsets, plan.chunk_views);
  for (const ViewChunk& part : chunks) {
    projection_bytes += stack_bytes({static_cast<int64_t>(part.views.size()), rows, columns},
                                    ops::StackUse::kProjections);
  }
  if (plan.projections_in_host) {
    projection_bytes =
        HostParts<ProjectionParts>::Rooms(static_cast<int>(chunks.size())) * chunk_bytes;
  }
  const Shape3 frames{plan.chunk_views, plan.acquisition.detector.rows, columns};
  const int partial_sums = plan.devices() > 1 ? 1 : 0;

  int64_t bytes = counts.volumes * piece_bytes + mask_bytes;
  bytes += counts.projections * projection_bytes + (counts.chunks + partial_sums) * chunk_bytes;
  bytes +=
      stack_bytes(frames, ops::StackUse::kLineIntegrals) + session.device().WorkspaceBytes(frames);
  bytes += operators.WorkspaceBytes(largest, chunk);
  if (HasVariation(plan.settings.algorithm)) {
    VolumeGrid slice = plan.grid;
    slice.nz = 1;
    bytes += 2 * session.device().VolumeBytes(slice);  // of the neighbours
  }
  return bytes;
}

int64_t HostBytes(const RefinementPlan& plan) {
  const VectorCounts counts = CountVectors(plan);
  const Detector& detector = plan.acquisition.detector;
  const int64_t view = int64_t{detector.rows} * detector.columns;
  int64_t floats = plan.chunk_views * view;  // staging of frames
  int64_t voxels = 0, largest = 0;
  for (const Piece& piece : plan.pieces) {
    voxels += piece.grid.voxels();
    largest = std::max(largest, piece.grid.voxels());
  }
  floats += largest;  // staging of the warm start
  if (plan.pieces_in_host) floats += counts.volumes * voxels;
  if (plan.projections_in_host) {
    for (const DeviceRows& rows : plan.rows) {
      floats += int64_t{counts.projections} * plan.views() * rows.seen.count * detector.columns;
    }
  }
  return floats * static_cast<int64_t>(sizeof(float));
}

}  // namespace isocenter::recon
