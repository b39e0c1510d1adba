#include "kernels/recon/iterative/piecewise_variation.h"

#include <cmath>
#include <limits>

#include "kernels/base/status_macros.h"

namespace isocenter::recon {

absl::StatusOr<std::unique_ptr<PiecewiseVariation>> PiecewiseVariation::Create(
    LinearSystem& system) {
  std::unique_ptr<PiecewiseVariation> self(new PiecewiseVariation(system));
  for (int device = 0; device < system.devices(); ++device) {
    ops::Session& session = system.session(device);
    Part& part = self->parts_.emplace_back();
    ISO_ASSIGN_OR_RETURN(const auto factory, system.registry().variation.Find(session.backend()));
    ISO_ASSIGN_OR_RETURN(part.variation, factory(session));
    const VolumeGrid slice = SlicesOf(system.plan().grid, 0, 1);
    ISO_ASSIGN_OR_RETURN(part.below, session.NewVolume(slice));
    ISO_ASSIGN_OR_RETURN(part.above, session.NewVolume(slice));
  }
  std::vector<size_t> of_device(system.devices());
  for (int piece = 0; self->HasPrior(piece); ++piece) {
    const size_t round = of_device[system.plan().pieces[piece].device]++;
    if (round == self->rounds_.size()) self->rounds_.emplace_back();
    self->rounds_[round].push_back(piece);
  }
  return self;
}

absl::StatusOr<int64_t> PiecewiseVariation::DeviceBytes(const RefinementPlan& plan,
                                                        const ops::Registry& registry,
                                                        const ops::Device& on,
                                                        const ops::Extents& extents) {
  ISO_ASSIGN_OR_RETURN(const auto variation, registry.variation.Find(on.backend()));
  return 2 * on.VolumeBytes(SlicesOf(plan.grid, 0, 1)) + variation.WorkspaceBytes(on, extents);
}

double PiecewiseVariation::SquaredFactors() const {
  const Vec3& spacing = system_.plan().grid.spacing;
  const double mean = std::cbrt(spacing.x * spacing.y * spacing.z);
  const auto square = [](double value) { return value * value; };
  return square(mean / spacing.x) + square(mean / spacing.y) + square(mean / spacing.z);
}

bool PiecewiseVariation::HasPrior(int piece) const {
  const auto& pieces = system_.plan().pieces;
  return piece >= 0 && piece < static_cast<int>(pieces.size()) && !pieces[piece].surroundings;
}

ops::Variation& PiecewiseVariation::VariationOf(int piece) {
  return *parts_[system_.plan().pieces[piece].device].variation;
}

absl::StatusOr<const ops::VolumeBuffer*> PiecewiseVariation::Below(VolumeVector& f, int piece) {
  if (!HasPrior(piece - 1)) return nullptr;
  const int device = system_.plan().pieces[piece].device;
  const int last = system_.plan().pieces[piece - 1].grid.nz - 1;
  ops::VolumeBuffer& below = *parts_[device].below;
  ISO_RETURN_IF_ERROR(f.CopySlice(piece - 1, last, system_.arithmetic(device), below));
  return &below;
}

absl::StatusOr<const ops::VolumeBuffer*> PiecewiseVariation::Above(VolumeVector& f, int piece) {
  if (!HasPrior(piece + 1)) return nullptr;
  const int device = system_.plan().pieces[piece].device;
  ops::VolumeBuffer& above = *parts_[device].above;
  ISO_RETURN_IF_ERROR(f.CopySlice(piece + 1, 0, system_.arithmetic(device), above));
  return &above;
}

absl::Status PiecewiseVariation::OnNeighbors(
    VolumeVector& f,
    const std::function<absl::Status(int, const ops::VolumeBuffer&, const ops::NeighborSlices&)>&
        work) {
  ISO_RETURN_IF_ERROR(f.Flush());
  for (const std::vector<int>& round : rounds_) {
    // All copies first: a device that sends a slice ends the work it was given before.
    std::vector<ops::NeighborSlices> neighbors(round.size());
    for (size_t i = 0; i < round.size(); ++i) {
      ISO_ASSIGN_OR_RETURN(neighbors[i].below, Below(f, round[i]));
      ISO_ASSIGN_OR_RETURN(neighbors[i].above, Above(f, round[i]));
    }
    for (size_t i = 0; i < round.size(); ++i) {
      ISO_ASSIGN_OR_RETURN(const ops::VolumeBuffer* own, f.At(round[i], Access::kRead));
      ISO_RETURN_IF_ERROR(work(round[i], *own, neighbors[i]));
    }
  }
  return absl::OkStatus();
}

absl::Status PiecewiseVariation::AddTotalVariationGradient(double strength, double epsilon,
                                                           VolumeVector& f,
                                                           VolumeVector& gradient) {
  return OnNeighbors(f, [&](int piece, const auto& own, const auto& neighbors) -> absl::Status {
    ISO_ASSIGN_OR_RETURN(ops::VolumeBuffer * to, gradient.At(piece, Access::kUpdate));
    return VariationOf(piece).AddTotalVariationGradient(strength, epsilon, own, neighbors, *to);
  });
}

absl::StatusOr<double> PiecewiseVariation::TotalVariation(double epsilon, VolumeVector& f) {
  double sum = 0;
  ISO_RETURN_IF_ERROR(
      OnNeighbors(f, [&](int piece, const auto& own, const auto& neighbors) -> absl::Status {
        ISO_ASSIGN_OR_RETURN(const double part,
                             VariationOf(piece).TotalVariation(epsilon, own, neighbors));
        sum += part;
        return absl::OkStatus();
      }));
  return sum;
}

absl::Status PiecewiseVariation::AddHuberGradient(double strength, double delta, VolumeVector& f,
                                                  VolumeVector& gradient) {
  return OnNeighbors(f, [&](int piece, const auto& own, const auto& neighbors) -> absl::Status {
    ISO_ASSIGN_OR_RETURN(ops::VolumeBuffer * to, gradient.At(piece, Access::kUpdate));
    return VariationOf(piece).AddHuberGradient(strength, delta, own, neighbors, *to);
  });
}

absl::Status PiecewiseVariation::AddQuadraticGradient(double strength, VolumeVector& f,
                                                      VolumeVector& gradient) {
  return AddHuberGradient(strength, std::numeric_limits<float>::max(), f, gradient);
}

absl::StatusOr<double> PiecewiseVariation::Huber(double delta, VolumeVector& f) {
  double sum = 0;
  ISO_RETURN_IF_ERROR(
      OnNeighbors(f, [&](int piece, const auto& own, const auto& neighbors) -> absl::Status {
        ISO_ASSIGN_OR_RETURN(const double part, VariationOf(piece).Huber(delta, own, neighbors));
        sum += part;
        return absl::OkStatus();
      }));
  return sum;
}

absl::Status PiecewiseVariation::AscendDual(double step, double bound, VolumeVector& f,
                                            const VolumeField& p) {
  return OnNeighbors(f, [&](int piece, const auto& own, const auto& neighbors) -> absl::Status {
    ops::VectorField<ops::VolumeBuffer> field;
    ISO_ASSIGN_OR_RETURN(field.x, p.x.At(piece, Access::kUpdate));
    ISO_ASSIGN_OR_RETURN(field.y, p.y.At(piece, Access::kUpdate));
    ISO_ASSIGN_OR_RETURN(field.z, p.z.At(piece, Access::kUpdate));
    return VariationOf(piece).AscendDual(step, bound, own, neighbors, field);
  });
}

absl::Status PiecewiseVariation::AddDivergence(double step, const VolumeField& p, VolumeVector& f) {
  ISO_RETURN_IF_ERROR(p.z.Flush());
  for (int piece = 0; HasPrior(piece); ++piece) {
    ISO_ASSIGN_OR_RETURN(const ops::VolumeBuffer* below, Below(p.z, piece));
    ops::VectorField<const ops::VolumeBuffer> field;
    ISO_ASSIGN_OR_RETURN(field.x, p.x.At(piece, Access::kRead));
    ISO_ASSIGN_OR_RETURN(field.y, p.y.At(piece, Access::kRead));
    ISO_ASSIGN_OR_RETURN(field.z, p.z.At(piece, Access::kRead));
    ISO_ASSIGN_OR_RETURN(ops::VolumeBuffer * to, f.At(piece, Access::kUpdate));
    ISO_RETURN_IF_ERROR(VariationOf(piece).AddDivergence(step, field, below, *to));
  }
  return absl::OkStatus();
}

}  // namespace isocenter::recon
