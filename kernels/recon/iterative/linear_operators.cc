#include "kernels/recon/iterative/linear_operators.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::recon {

absl::StatusOr<LinearOperators> LinearOperators::Create(const IterativeSettings& settings,
                                                        const ops::Registry& registry,
                                                        ops::Session& session) {
  const auto methods = registry.projectors.find(settings.projector);
  if (methods == registry.projectors.end()) {
    return absl::NotFoundError(absl::StrCat("no backend has the projector '",
                                            ops::ProjectorName(settings.projector), "'"));
  }
  LinearOperators operators;
  ISO_ASSIGN_OR_RETURN(const auto forward,
                       methods->second.forward.Find(session.backend(), "", settings.precision));
  ISO_ASSIGN_OR_RETURN(operators.forward_, forward(session));
  if (settings.matched) {
    ISO_ASSIGN_OR_RETURN(const auto back,
                         methods->second.back.Find(session.backend(), "", settings.precision));
    ISO_ASSIGN_OR_RETURN(operators.matched_, back(session));
  } else {
    ISO_ASSIGN_OR_RETURN(const auto back,
                         registry.backproject.Find(session.backend(), "", settings.precision));
    ISO_ASSIGN_OR_RETURN(operators.unmatched_, back(session));
  }
  return operators;
}

absl::Status LinearOperators::Forward(std::span<const ProjectionMatrix> matrices,
                                      const ops::VolumeBuffer& volume,
                                      ops::ProjectionStack& projections) const {
  return forward_->Run(matrices, volume, projections);
}

absl::Status LinearOperators::Back(std::span<const ProjectionMatrix> matrices,
                                   const ops::ProjectionStack& projections,
                                   ops::VolumeBuffer& volume) const {
  return matched() ? matched_->Run(matrices, projections, volume)
                   : unmatched_->Run(matrices, projections, volume);
}

int64_t LinearOperators::WorkspaceBytes(const VolumeGrid& grid, Shape3 projections) const {
  const int64_t forward = forward_->WorkspaceBytes(grid, projections);
  return matched() ? std::max(forward, matched_->WorkspaceBytes(grid, projections)) : forward;
}

double RayDensity(std::span<const ProjectionMatrix> matrices) {
  double sum = 0;
  for (const ProjectionMatrix& p : matrices) {
    const double det = p(0, 0) * (p(1, 1) * p(2, 2) - p(1, 2) * p(2, 1)) -
                       p(0, 1) * (p(1, 0) * p(2, 2) - p(1, 2) * p(2, 0)) +
                       p(0, 2) * (p(1, 0) * p(2, 1) - p(1, 1) * p(2, 0));
    // The isocentre lies at s + 1·M⁻¹(u, v, 1), and (u, v, 1) is the last column.
    const auto inverse = InverseLeft(p);
    const auto component = [&](int i) {
      return inverse[3 * i] * p(0, 3) + inverse[3 * i + 1] * p(1, 3) + inverse[3 * i + 2] * p(2, 3);
    };
    sum += std::abs(det) * Norm({component(0), component(1), component(2)});
  }
  return sum;
}

double UnmatchedScale(std::span<const ProjectionMatrix> matrices, const VolumeGrid& grid) {
  const double volume = grid.spacing.x * grid.spacing.y * grid.spacing.z;
  return volume * RayDensity(matrices) / static_cast<double>(matrices.size());
}

}  // namespace isocenter::recon
