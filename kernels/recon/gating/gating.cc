#include "kernels/recon/gating/gating.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/geometry/angle_between.h"

namespace isocenter::recon {
namespace {

/// A way whose ends are no further apart than so many of its steps is closed.
constexpr double kClosed = 1.5;

}  // namespace

absl::StatusOr<Acquisition> GatedAcquisition(const Acquisition& scan, ChosenViews chosen) {
  Acquisition gated = AsLineIntegrals(scan);
  gated.trajectory.clear();
  for (const int view : chosen.views) {
    if (view < 0 || view >= static_cast<int>(scan.trajectory.size())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the chosen view is ", view, "; legal is 0 to ", scan.trajectory.size() - 1));
    }
    gated.trajectory.push_back(scan.trajectory[view]);
  }
  gated.gated = std::make_shared<const GatedScan>(
      GatedScan{.whole = scan.trajectory, .chosen = std::move(chosen)});
  return gated;
}

absl::StatusOr<double> LargestGap(const Trajectory& scan, const ChosenViews& chosen) {
  std::vector<Vec3> sources;
  for (const ProjectionMatrix& matrix : scan) {
    ISO_ASSIGN_OR_RETURN(const Camera camera, Decompose(matrix));
    sources.push_back(camera.source);
  }
  const size_t views = sources.size();
  std::vector<double> step(views, 0);  // half of the way from the view before to the view after
  double way = 0;
  for (size_t i = 0; i + 1 < views; ++i) {
    const double apart = AngleBetween(sources[i], sources[i + 1]);
    step[i] += 0.5 * apart;
    step[i + 1] += 0.5 * apart;
    way += apart;
  }
  const double back = AngleBetween(sources.back(), sources.front());
  const bool closed = way > kPi && back < kClosed * way / static_cast<double>(views - 1);
  if (closed) {
    step.front() += 0.5 * back;
    step.back() += 0.5 * back;
  }
  return isocenter::LargestGap(step, chosen, closed);
}

void KeepChosenViews(const ChosenViews& chosen, RedundancyTable& table) {
  const bool closed = table.outline.full_scan && table.outline.arc <= 2 * kPi;
  std::vector<double> steps = GatedSteps(table.angular_step, chosen, closed);
  const auto columns = static_cast<size_t>(table.columns);
  for (size_t i = 0; i < chosen.views.size(); ++i) {
    const size_t view = chosen.views[i];  // i or more
    std::copy_n(table.weight.begin() + view * columns, columns, table.weight.begin() + i * columns);
  }
  table.views = static_cast<int>(chosen.views.size());
  table.weight.resize(table.views * columns);
  table.angular_step = std::move(steps);
}

}  // namespace isocenter::recon
