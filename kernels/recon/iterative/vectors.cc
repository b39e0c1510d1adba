#include "kernels/recon/iterative/vectors.h"

#include <algorithm>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/recon/iterative/memory.h"

namespace isocenter::recon {

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

absl::StatusOr<ops::VolumeBuffer*> VolumeVector::At(int piece, Access access) {
  if (in_host_.empty()) return volumes_[piece].get();
  return in_host_[plan_->pieces[piece].device]->At(index_[piece], access);
}

absl::Status VolumeVector::Flush() {
  for (const auto& parts : in_host_) ISO_RETURN_IF_ERROR(parts->Flush());
  return absl::OkStatus();
}

absl::Status VolumeVector::CopySlice(int piece, int slice, ops::Arithmetic& arithmetic,
                                     ops::VolumeBuffer& to) {
  if (in_host_.empty()) return arithmetic.CopySlice(*volumes_[piece], slice, to, 0);
  HostParts<VolumeParts>& parts = *in_host_[plan_->pieces[piece].device];
  return to.Upload(0, parts.InHost(index_[piece]).slices(slice, 1));
}

absl::Status VolumeVector::Upload(int piece, int first_slice, HostView3<const float> slices) {
  ISO_ASSIGN_OR_RETURN(ops::VolumeBuffer * volume, At(piece, Access::kUpdate));
  return volume->Upload(first_slice, slices);
}

absl::Status VolumeVector::Download(int piece, HostView3<float> slices) {
  ISO_ASSIGN_OR_RETURN(const ops::VolumeBuffer* volume, At(piece, Access::kRead));
  return volume->Download(0, slices);
}

Shape3 ProjectionVector::ShapeOf(int chunk, int device) const {
  return {static_cast<int64_t>(chunks_[chunk].views.size()), plan_->rows[device].seen.count,
          plan_->acquisition.detector.columns};
}

Shape3 ProjectionVector::LargestShape(int device) const {
  Shape3 largest = ShapeOf(0, device);
  for (const ViewChunk& chunk : chunks_) {
    largest.slow = std::max<int64_t>(largest.slow, chunk.views.size());
  }
  return largest;
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
                                                            vector.LargestShape(device)));
  }
  return vector;
}

absl::StatusOr<ProjectionVector> ProjectionVector::CreateForOneChunk(
    const RefinementPlan& plan, std::span<const ViewChunk> chunks,
    std::span<ops::Session* const> sessions) {
  ProjectionVector vector(plan, chunks);
  for (int device = 0; device < plan.devices(); ++device) {
    ISO_ASSIGN_OR_RETURN(vector.one_chunk_.emplace_back(),
                         sessions[device]->NewProjectionStack(vector.LargestShape(device),
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
  if (!stacks_.empty()) return stacks_[chunk][device]->Upload(index, view);
  const HostView3<float> to = in_host_[device]->InHost(chunk).slices(index, 1);
  std::copy_n(view.data(), view.shape().count(), to.data());
  return absl::OkStatus();
}

}  // namespace isocenter::recon
