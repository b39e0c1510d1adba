#include "server/pipeline/frames/measured_matrix.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::pipeline {

absl::StatusOr<ProjectionMatrix> CheckedMeasuredMatrix(const ProjectionMatrix& measured,
                                                       const ProjectionMatrix& planned,
                                                       const Detector& detector) {
  constexpr double kLargestSourceShift = 100;  // mm; calibrated arms differ by a few
  constexpr double kLargestIsocenterShift = 0.25;
  ISO_ASSIGN_OR_RETURN(const ProjectionMatrix normalised, NormalizeMatrix(measured));
  ISO_ASSIGN_OR_RETURN(const Camera found, Decompose(normalised));
  ISO_ASSIGN_OR_RETURN(const Camera expected, Decompose(planned));
  const double source_shift = Norm(found.source - expected.source);
  if (!(source_shift <= kLargestSourceShift)) {
    return absl::InvalidArgumentError(absl::StrCat("its source is ", source_shift,
                                                   " mm from the planned one; legal is 0 to ",
                                                   kLargestSourceShift));
  }
  const Projected a = normalised.Project({}), b = planned.Project({});
  const double shift = std::hypot(a.u() - b.u(), a.v() - b.v());
  const double legal = kLargestIsocenterShift * std::max(detector.columns, detector.rows);
  if (!(shift <= legal)) {
    return absl::InvalidArgumentError(
        absl::StrCat("it maps the isocentre ", shift,
                     " pixels away from the planned position; legal is 0 to ", legal));
  }
  return normalised;
}

}  // namespace isocenter::pipeline
