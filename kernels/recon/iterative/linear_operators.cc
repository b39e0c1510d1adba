#include "kernels/recon/iterative/linear_operators.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::recon {

absl::StatusOr<LinearMethods> LinearMethods::Find(const IterativeSettings& settings,
                                                  const ops::Registry& registry,
                                                  absl::string_view backend) {
  const auto models = registry.projectors.find(settings.projector);
  if (models == registry.projectors.end()) {
    return absl::NotFoundError(absl::StrCat("no backend has the projector '",
                                            ops::ProjectorName(settings.projector), "'"));
  }
  ISO_ASSIGN_OR_RETURN(const auto forward,
                       models->second.forward.FindEntry(backend, "", settings.precision));
  LinearMethods methods{.forward = forward->factory};
  methods.description = absl::StrCat(backend, ": forward projection ", forward->method);
  if (settings.matched) {
    ISO_ASSIGN_OR_RETURN(const auto back,
                         models->second.back.FindEntry(backend, "", settings.precision));
    methods.matched = back->factory;
    absl::StrAppend(&methods.description, ", matched back-projection ", back->method);
  } else {
    ISO_ASSIGN_OR_RETURN(const auto back,
                         registry.backproject.FindEntry(backend, "", settings.precision));
    methods.unmatched = back->factory;
    absl::StrAppend(&methods.description, ", back-projection ", back->method);
  }
  if (const auto sums = models->second.row_sums.Find(backend); sums.ok()) methods.row_sums = *sums;
  return methods;
}

int64_t LinearMethods::WorkspaceBytes(const ops::Device& device,
                                      const ops::Extents& extents) const {
  return forward.WorkspaceBytes(device, extents) +
         (matched ? matched->WorkspaceBytes(device, extents)
                  : unmatched->WorkspaceBytes(device, extents)) +
         (row_sums ? row_sums->WorkspaceBytes(device, extents) : 0);
}

absl::StatusOr<LinearOperators> LinearOperators::Create(const LinearMethods& methods,
                                                        ops::Session& session) {
  LinearOperators operators;
  ISO_ASSIGN_OR_RETURN(operators.forward_, methods.forward(session));
  if (methods.matched) {
    ISO_ASSIGN_OR_RETURN(operators.matched_, (*methods.matched)(session));
  } else {
    ISO_ASSIGN_OR_RETURN(operators.unmatched_, (*methods.unmatched)(session));
  }
  if (methods.row_sums) {
    ISO_ASSIGN_OR_RETURN(operators.row_sums_, (*methods.row_sums)(session));
  }
  return operators;
}

absl::Status LinearOperators::Forward(std::span<const ProjectionMatrix> matrices,
                                      const ops::VolumeBuffer& volume,
                                      ops::ProjectionStack& projections) const {
  return forward_->Run(matrices, volume, projections);
}

absl::Status LinearOperators::SumRows(std::span<const ProjectionMatrix> matrices,
                                      const VolumeGrid& grid,
                                      ops::ProjectionStack& projections) const {
  return row_sums_->Run(matrices, grid, projections);
}

absl::Status LinearOperators::Back(std::span<const ProjectionMatrix> matrices,
                                   const ops::ProjectionStack& projections,
                                   ops::VolumeBuffer& volume) const {
  return matched() ? matched_->Run(matrices, projections, volume)
                   : unmatched_->Run(matrices, projections, volume);
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
