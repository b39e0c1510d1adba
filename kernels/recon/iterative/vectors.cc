#include "kernels/recon/iterative/vectors.h"

#include <algorithm>
#include <utility>

#include "kernels/base/status_macros.h"

namespace isocenter::recon {

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

Shape3 LargestStack(const RefinementPlan& plan, std::span<const ViewChunk> chunks, int device) {
  size_t views = 0;
  for (const ViewChunk& chunk : chunks) views = std::max(views, chunk.views.size());
  return {static_cast<int64_t>(views), plan.rows[device].seen.count,
          plan.acquisition.detector.columns};
}

int64_t VolumeVector::DeviceBytes(const RefinementPlan& plan, int device, const ops::Device& on) {
  int64_t bytes = 0;
  int pieces = 0;
  for (const Piece& piece : plan.pieces) {
    if (piece.device != device) continue;
    ++pieces;
    bytes += on.VolumeBytes(piece.grid);
  }
  if (!plan.pieces_in_host) return bytes;
  return HostParts<VolumeParts>::Rooms(pieces) * on.VolumeBytes(LargestPiece(plan, device));
}

int64_t VolumeVector::OnePieceDeviceBytes(const RefinementPlan& plan, int device,
                                          const ops::Device& on) {
  return on.VolumeBytes(LargestPiece(plan, device));
}

int64_t VolumeVector::HostBytes(const RefinementPlan& plan) {
  int64_t bytes = 0;
  for (const Piece& piece : plan.pieces) bytes += VolumeBytes(piece.grid);
  return plan.pieces_in_host ? bytes : 0;
}

absl::StatusOr<VolumeVector> VolumeVector::Create(const RefinementPlan& plan,
                                                  std::span<ops::Session* const> sessions) {
  VolumeVector vector(plan);
  if (!plan.pieces_in_host) {
    for (const Piece& piece : plan.pieces) {
      ISO_ASSIGN_OR_RETURN(vector.volumes_.emplace_back(),
                           sessions[piece.device]->NewVolume(piece.grid));
    }
    return vector;
  }
  std::vector<std::vector<VolumeGrid>> grids(plan.devices());
  for (const Piece& piece : plan.pieces) {
    vector.index_.push_back(static_cast<int>(grids[piece.device].size()));
    grids[piece.device].push_back(piece.grid);
  }
  for (int device = 0; device < plan.devices(); ++device) {
    ISO_ASSIGN_OR_RETURN(vector.in_host_.emplace_back(),
                         HostParts<VolumeParts>::Create(*sessions[device], std::move(grids[device]),
                                                        LargestPiece(plan, device)));
  }
  return vector;
}

absl::StatusOr<VolumeVector> VolumeVector::CreateForOnePiece(
    const RefinementPlan& plan, std::span<ops::Session* const> sessions) {
  VolumeVector vector(plan);
  for (int device = 0; device < plan.devices(); ++device) {
    ISO_ASSIGN_OR_RETURN(vector.one_piece_.emplace_back(),
                         sessions[device]->NewVolume(LargestPiece(plan, device)));
  }
  return vector;
}

absl::StatusOr<ops::VolumeBuffer*> VolumeVector::At(int piece, Access access) {
  if (!volumes_.empty()) return volumes_[piece].get();
  const int device = plan_->pieces[piece].device;
  if (!in_host_.empty()) return in_host_[device]->At(index_[piece], access);
  ops::VolumeBuffer* const volume = one_piece_[device].get();
  const VolumeGrid& grid = plan_->pieces[piece].grid;
  if (volume->grid() != grid) ISO_RETURN_IF_ERROR(volume->Reshape(grid));
  return volume;
}

absl::Status VolumeVector::Flush() {
  for (const auto& parts : in_host_) ISO_RETURN_IF_ERROR(parts->Flush());
  return absl::OkStatus();
}

absl::Status VolumeVector::CopySlice(int piece, int slice, ops::Arithmetic& arithmetic,
                                     ops::VolumeBuffer& to) {
  if (in_host_.empty()) {
    return arithmetic.CopySlices(*volumes_[piece], slice, 1, to, 0);
  }
  HostParts<VolumeParts>& parts = *in_host_[plan_->pieces[piece].device];
  return to.StartUpload(0, parts.InHost(index_[piece]).slices(slice, 1));
}

Shape3 ProjectionVector::ShapeOf(int chunk, int device) const {
  return {static_cast<int64_t>(chunks_[chunk].views.size()), plan_->rows[device].seen.count,
          plan_->acquisition.detector.columns};
}

int64_t ProjectionVector::DeviceBytes(const RefinementPlan& plan, std::span<const ViewChunk> chunks,
                                      int device, const ops::Device& on) {
  const int count = static_cast<int>(chunks.size());
  if (plan.projections_in_host) {
    return HostParts<ProjectionParts>::Rooms(count) * OneChunkDeviceBytes(plan, chunks, device, on);
  }
  const ProjectionVector vector(plan, chunks);
  int64_t bytes = 0;
  for (int chunk = 0; chunk < count; ++chunk) {
    bytes += on.ProjectionStackBytes(vector.ShapeOf(chunk, device), ops::StackUse::kProjections);
  }
  return bytes;
}

int64_t ProjectionVector::OneChunkDeviceBytes(const RefinementPlan& plan,
                                              std::span<const ViewChunk> chunks, int device,
                                              const ops::Device& on) {
  return on.ProjectionStackBytes(LargestStack(plan, chunks, device), ops::StackUse::kProjections);
}

int64_t ProjectionVector::HostBytes(const RefinementPlan& plan) {
  if (!plan.projections_in_host) return 0;
  int64_t rows = 0;
  for (const DeviceRows& device : plan.rows) rows += device.seen.count;
  return plan.views() * rows * plan.acquisition.detector.columns *
         static_cast<int64_t>(sizeof(float));
}

absl::StatusOr<ProjectionVector> ProjectionVector::Create(const RefinementPlan& plan,
                                                          std::span<const ViewChunk> chunks,
                                                          std::span<ops::Session* const> sessions) {
  ProjectionVector vector(plan, chunks);
  const int count = static_cast<int>(chunks.size());
  if (!plan.projections_in_host) {
    for (int chunk = 0; chunk < count; ++chunk) {
      auto& stacks = vector.stacks_.emplace_back();
      for (int device = 0; device < plan.devices(); ++device) {
        ISO_ASSIGN_OR_RETURN(stacks.emplace_back(),
                             sessions[device]->NewProjectionStack(vector.ShapeOf(chunk, device),
                                                                  ops::StackUse::kProjections));
      }
    }
    return vector;
  }
  for (int device = 0; device < plan.devices(); ++device) {
    std::vector<Shape3> shapes;
    for (int chunk = 0; chunk < count; ++chunk) shapes.push_back(vector.ShapeOf(chunk, device));
    ISO_ASSIGN_OR_RETURN(vector.in_host_.emplace_back(),
                         HostParts<ProjectionParts>::Create(*sessions[device], std::move(shapes),
                                                            LargestStack(plan, chunks, device)));
  }
  return vector;
}

absl::StatusOr<ProjectionVector> ProjectionVector::CreateForOneChunk(
    const RefinementPlan& plan, std::span<const ViewChunk> chunks,
    std::span<ops::Session* const> sessions) {
  ProjectionVector vector(plan, chunks);
  for (int device = 0; device < plan.devices(); ++device) {
    ISO_ASSIGN_OR_RETURN(vector.one_chunk_.emplace_back(),
                         sessions[device]->NewProjectionStack(LargestStack(plan, chunks, device),
                                                              ops::StackUse::kProjections));
  }
  return vector;
}

absl::StatusOr<ops::ProjectionStack*> ProjectionVector::At(int chunk, int device, Access access) {
  if (!stacks_.empty()) return stacks_[chunk][device].get();
  if (!in_host_.empty()) return in_host_[device]->At(chunk, access);
  ops::ProjectionStack* const stack = one_chunk_[device].get();
  const Shape3 shape = ShapeOf(chunk, device);
  if (stack->shape() != shape) ISO_RETURN_IF_ERROR(stack->Reshape(shape));
  return stack;
}

absl::Status ProjectionVector::Store(int chunk, int index, int device,
                                     HostView3<const float> view) {
  if (!stacks_.empty()) return stacks_[chunk][device]->StartUpload(index, view);
  const HostView3<float> to = in_host_[device]->InHost(chunk).slices(index, 1);
  std::copy_n(view.data(), view.shape().count(), to.data());
  return absl::OkStatus();
}

}  // namespace isocenter::recon
