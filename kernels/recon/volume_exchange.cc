#include "kernels/recon/volume_exchange.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/hounsfield.h"

namespace isocenter::recon {
namespace {

// 16 MB at 512³: many times what it takes to start a copy.
constexpr int kSlicesAtOnce = 16;

// What is converted at once, of any piece of a device.
VolumeGrid StagingGrid(const RefinementPlan& plan, int device) {
  VolumeGrid grid = LargestPiece(plan, device);
  grid.nz = std::min(grid.nz, kSlicesAtOnce);
  return grid;
}

// Where copies run beside other work, one is filled while the other leaves.
int StagingVolumes(const ops::Device& device) { return device.traits().own_memory ? 2 : 1; }

absl::Status NotFinite(const Piece& piece, HostView3<const float> hounsfield) {
  for (int64_t slice = 0; slice < hounsfield.shape().slow; ++slice) {
    for (const float value : hounsfield.slices(slice, 1).span()) {
      if (std::isfinite(value)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("the volume to begin with has a value of ", value, " HU in slice ",
                       piece.first_slice + slice, "; legal is finite"));
    }
  }
  return absl::InternalError("the sum of squares of a volume of finite values is not finite");
}

}  // namespace

absl::StatusOr<std::unique_ptr<VolumeExchange>> VolumeExchange::Create(LinearSystem& system) {
  std::unique_ptr<VolumeExchange> self(new VolumeExchange(system));
  for (int device = 0; device < system.devices(); ++device) {
    Part& part = self->parts_.emplace_back();
    ops::Session& session = system.session(device);
    ISO_ASSIGN_OR_RETURN(const auto to_hounsfield,
                         system.registry().to_hounsfield.Find(session.backend()));
    ISO_ASSIGN_OR_RETURN(part.to_hounsfield, to_hounsfield(session));
    for (int i = 0; i < StagingVolumes(session.device()); ++i) {
      ISO_ASSIGN_OR_RETURN(part.staging.emplace_back(),
                           session.NewVolume(StagingGrid(system.plan(), device)));
    }
  }
  return self;
}

absl::StatusOr<int64_t> VolumeExchange::DeviceBytes(const RefinementPlan& plan,
                                                    const ops::Registry& registry, int device,
                                                    const ops::Device& on) {
  ISO_ASSIGN_OR_RETURN(const auto to_hounsfield, registry.to_hounsfield.Find(on.backend()));
  const VolumeGrid grid = StagingGrid(plan, device);
  return StagingVolumes(on) * on.VolumeBytes(grid) +
         to_hounsfield.WorkspaceBytes(on, {.grid = grid});
}

absl::Status VolumeExchange::Set(HostView3<const float> hounsfield, VolumeVector& x) {
  const RefinementPlan& plan = system_.plan();
  const ops::HounsfieldHinges hinges = ops::AttenuationHinges(plan.hounsfield);
  for (size_t i = 0; i < plan.pieces.size(); ++i) {
    const Piece& piece = plan.pieces[i];
    if (piece.surroundings) continue;
    const auto from = hounsfield.slices(piece.first_slice, piece.grid.nz);
    ops::Arithmetic& arithmetic = system_.arithmetic(piece.device);
    ISO_ASSIGN_OR_RETURN(ops::VolumeBuffer * volume, x.At(static_cast<int>(i), Access::kOverwrite));
    ISO_RETURN_IF_ERROR(volume->Upload(0, from));
    // The squares of float32 numbers do not overflow in float64.
    ISO_ASSIGN_OR_RETURN(const double squared, arithmetic.Dot(*volume, *volume));
    if (!std::isfinite(squared)) {
      ISO_RETURN_IF_ERROR(system_.Fill(0, x));
      return NotFinite(piece, from);
    }
    ISO_RETURN_IF_ERROR(arithmetic.Bend(hinges, *volume));
    if (plan.settings.non_negative) ISO_RETURN_IF_ERROR(arithmetic.ClampBelow(0, *volume));
  }
  return absl::OkStatus();
}

absl::Status VolumeExchange::Read(VolumeVector& x, HostView3<float> hounsfield) {
  const RefinementPlan& plan = system_.plan();
  for (size_t i = 0; i < plan.pieces.size(); ++i) {
    const Piece& piece = plan.pieces[i];
    if (piece.surroundings) continue;
    ISO_ASSIGN_OR_RETURN(const ops::VolumeBuffer* volume, x.At(static_cast<int>(i), Access::kRead));
    ISO_RETURN_IF_ERROR(
        ReadPiece(piece, *volume, hounsfield.slices(piece.first_slice, piece.grid.nz)));
  }
  return system_.Synchronize();
}

absl::Status VolumeExchange::ReadPiece(const Piece& piece, const ops::VolumeBuffer& volume,
                                       HostView3<float> hounsfield) {
  Part& part = parts_[piece.device];
  for (int slice = 0; slice < piece.grid.nz; slice += kSlicesAtOnce) {
    const int count = std::min(kSlicesAtOnce, piece.grid.nz - slice);
    ops::VolumeBuffer& staging = *part.staging[part.turn];
    part.turn = (part.turn + 1) % static_cast<int>(part.staging.size());
    ISO_RETURN_IF_ERROR(staging.Reshape(SlicesOf(piece.grid, slice, count)));
    ISO_RETURN_IF_ERROR(
        system_.arithmetic(piece.device).CopySlices(volume, slice, count, staging, 0));
    ISO_RETURN_IF_ERROR(part.to_hounsfield->Run(system_.plan().hounsfield, staging));
    ISO_RETURN_IF_ERROR(staging.StartDownload(0, hounsfield.slices(slice, count)));
  }
  return absl::OkStatus();
}

}  // namespace isocenter::recon
