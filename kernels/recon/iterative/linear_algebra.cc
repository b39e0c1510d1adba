// The element-wise part of LinearSystem.
#include <numeric>

#include "kernels/base/status_macros.h"
#include "kernels/recon/iterative/linear_system.h"

namespace isocenter::recon {

absl::Status LinearSystem::Fill(double value, VolumeVector& y) {
  return OnPieces([&](int piece) -> absl::Status {
    ISO_ASSIGN_OR_RETURN(ops::VolumeBuffer * to, y.At(piece, Access::kOverwrite));
    return FillPiece(value, piece, *to);
  });
}

absl::Status LinearSystem::FillPiece(double value, int piece, ops::VolumeBuffer& volume) {
  ISO_RETURN_IF_ERROR(arithmetic(plan_.pieces[piece].device).Fill(value, volume));
  return Mask(piece, volume);
}

absl::Status LinearSystem::Copy(VolumeVector& x, VolumeVector& y) {
  return OnPieces([&](int piece) -> absl::Status {
    ISO_ASSIGN_OR_RETURN(const ops::VolumeBuffer* from, x.At(piece, Access::kRead));
    ISO_ASSIGN_OR_RETURN(ops::VolumeBuffer * to, y.At(piece, Access::kOverwrite));
    return arithmetic(plan_.pieces[piece].device).Copy(*from, *to);
  });
}

absl::Status LinearSystem::Axpby(double a, VolumeVector& x, double b, VolumeVector& y) {
  return OnPieces([&](int piece) -> absl::Status {
    ISO_ASSIGN_OR_RETURN(const ops::VolumeBuffer* from, x.At(piece, Access::kRead));
    ISO_ASSIGN_OR_RETURN(ops::VolumeBuffer * to,
                         y.At(piece, b == 0 ? Access::kOverwrite : Access::kUpdate));
    return arithmetic(plan_.pieces[piece].device).Axpby(a, *from, b, *to);
  });
}

absl::Status LinearSystem::Multiply(VolumeVector& x, VolumeVector& y) {
  return OnPieces([&](int piece) -> absl::Status {
    ISO_ASSIGN_OR_RETURN(const ops::VolumeBuffer* from, x.At(piece, Access::kRead));
    ISO_ASSIGN_OR_RETURN(ops::VolumeBuffer * to, y.At(piece, Access::kUpdate));
    return arithmetic(plan_.pieces[piece].device).Multiply(*from, *to);
  });
}

absl::Status LinearSystem::MultiplyAdd(double a, VolumeVector& w, VolumeVector& x,
                                       VolumeVector& y) {
  return OnPieces([&](int piece) -> absl::Status {
    ISO_ASSIGN_OR_RETURN(const ops::VolumeBuffer* weight, w.At(piece, Access::kRead));
    ISO_ASSIGN_OR_RETURN(const ops::VolumeBuffer* from, x.At(piece, Access::kRead));
    ISO_ASSIGN_OR_RETURN(ops::VolumeBuffer * to, y.At(piece, Access::kUpdate));
    return arithmetic(plan_.pieces[piece].device).MultiplyAdd(a, *weight, *from, *to);
  });
}

absl::Status LinearSystem::MultiplyAddAbove(double least, double a, VolumeVector& w,
                                            VolumeVector& x, VolumeVector& y) {
  return OnPieces([&](int piece) -> absl::Status {
    ISO_ASSIGN_OR_RETURN(const ops::VolumeBuffer* weight, w.At(piece, Access::kRead));
    ISO_ASSIGN_OR_RETURN(const ops::VolumeBuffer* from, x.At(piece, Access::kRead));
    ISO_ASSIGN_OR_RETURN(ops::VolumeBuffer * to, y.At(piece, Access::kUpdate));
    return arithmetic(plan_.pieces[piece].device).MultiplyAddAbove(least, a, *weight, *from, *to);
  });
}

absl::Status LinearSystem::Invert(double threshold, VolumeVector& y) {
  return OnPieces([&](int piece) -> absl::Status {
    ISO_ASSIGN_OR_RETURN(ops::VolumeBuffer * to, y.At(piece, Access::kUpdate));
    return arithmetic(plan_.pieces[piece].device).Invert(threshold, *to);
  });
}

absl::Status LinearSystem::ClampBelow(double least, VolumeVector& y) {
  return OnPieces([&](int piece) -> absl::Status {
    ISO_ASSIGN_OR_RETURN(ops::VolumeBuffer * to, y.At(piece, Access::kUpdate));
    return arithmetic(plan_.pieces[piece].device).ClampBelow(least, *to);
  });
}

absl::Status LinearSystem::Bend(const ops::HounsfieldHinges& hinges, VolumeVector& y) {
  return OnPieces([&](int piece) -> absl::Status {
    ISO_ASSIGN_OR_RETURN(ops::VolumeBuffer * to, y.At(piece, Access::kUpdate));
    ISO_RETURN_IF_ERROR(arithmetic(plan_.pieces[piece].device).Bend(hinges, *to));
    return Mask(piece, *to);
  });
}

absl::StatusOr<double> LinearSystem::Dot(VolumeVector& x, VolumeVector& y) {
  // The order of the sum is that of the pieces, whichever device is ready first.
  std::vector<double> sums(plan_.pieces.size());
  ISO_RETURN_IF_ERROR(OnPieces([&](int piece) -> absl::Status {
    ISO_ASSIGN_OR_RETURN(const ops::VolumeBuffer* a, x.At(piece, Access::kRead));
    ISO_ASSIGN_OR_RETURN(const ops::VolumeBuffer* b, y.At(piece, Access::kRead));
    ISO_ASSIGN_OR_RETURN(sums[piece], arithmetic(plan_.pieces[piece].device).Dot(*a, *b));
    return absl::OkStatus();
  }));
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

absl::Status LinearSystem::Fill(int chunk, double value, ProjectionVector& y) {
  return OnDevices([&](int device) -> absl::Status {
    ISO_ASSIGN_OR_RETURN(ops::ProjectionStack * to, y.At(chunk, device, Access::kOverwrite));
    return arithmetic(device).Fill(value, *to);
  });
}

absl::Status LinearSystem::Copy(int chunk, ProjectionVector& x, ProjectionVector& y) {
  return OnDevices([&](int device) -> absl::Status {
    ISO_ASSIGN_OR_RETURN(const ops::ProjectionStack* from, x.At(chunk, device, Access::kRead));
    ISO_ASSIGN_OR_RETURN(ops::ProjectionStack * to, y.At(chunk, device, Access::kOverwrite));
    return arithmetic(device).Copy(*from, *to);
  });
}

absl::Status LinearSystem::Axpby(int chunk, double a, ProjectionVector& x, double b,
                                 ProjectionVector& y) {
  return OnDevices([&](int device) -> absl::Status {
    ISO_ASSIGN_OR_RETURN(const ops::ProjectionStack* from, x.At(chunk, device, Access::kRead));
    ISO_ASSIGN_OR_RETURN(ops::ProjectionStack * to,
                         y.At(chunk, device, b == 0 ? Access::kOverwrite : Access::kUpdate));
    return arithmetic(device).Axpby(a, *from, b, *to);
  });
}

absl::Status LinearSystem::Multiply(int chunk, ProjectionVector& x, ProjectionVector& y) {
  return OnDevices([&](int device) -> absl::Status {
    ISO_ASSIGN_OR_RETURN(const ops::ProjectionStack* from, x.At(chunk, device, Access::kRead));
    ISO_ASSIGN_OR_RETURN(ops::ProjectionStack * to, y.At(chunk, device, Access::kUpdate));
    return arithmetic(device).Multiply(*from, *to);
  });
}

absl::Status LinearSystem::MultiplyAdd(int chunk, double a, ProjectionVector& w,
                                       ProjectionVector& x, ProjectionVector& y) {
  return OnDevices([&](int device) -> absl::Status {
    ISO_ASSIGN_OR_RETURN(const ops::ProjectionStack* weight, w.At(chunk, device, Access::kRead));
    ISO_ASSIGN_OR_RETURN(const ops::ProjectionStack* from, x.At(chunk, device, Access::kRead));
    ISO_ASSIGN_OR_RETURN(ops::ProjectionStack * to, y.At(chunk, device, Access::kUpdate));
    return arithmetic(device).MultiplyAdd(a, *weight, *from, *to);
  });
}

absl::Status LinearSystem::Invert(int chunk, double threshold, ProjectionVector& y) {
  return OnDevices([&](int device) -> absl::Status {
    ISO_ASSIGN_OR_RETURN(ops::ProjectionStack * to, y.At(chunk, device, Access::kUpdate));
    return arithmetic(device).Invert(threshold, *to);
  });
}

absl::Status LinearSystem::Exponential(int chunk, double a, ProjectionVector& y) {
  return OnDevices([&](int device) -> absl::Status {
    ISO_ASSIGN_OR_RETURN(ops::ProjectionStack * to, y.At(chunk, device, Access::kUpdate));
    return arithmetic(device).Exponential(a, *to);
  });
}

absl::StatusOr<double> LinearSystem::Dot(int chunk, ProjectionVector& x, ProjectionVector& y) {
  std::vector<double> sums(parts_.size());
  ISO_RETURN_IF_ERROR(OnDevices([&](int device) -> absl::Status {
    const DeviceRows& rows = plan_.rows[device];
    if (rows.owned.count == 0) return absl::OkStatus();
    ISO_ASSIGN_OR_RETURN(const ops::ProjectionStack* a, x.At(chunk, device, Access::kRead));
    ISO_ASSIGN_OR_RETURN(const ops::ProjectionStack* b, y.At(chunk, device, Access::kRead));
    const RowRange owned{rows.owned.first - rows.seen.first, rows.owned.count};
    ISO_ASSIGN_OR_RETURN(sums[device], arithmetic(device).Dot(*a, *b, owned));
    return absl::OkStatus();
  }));
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace isocenter::recon
