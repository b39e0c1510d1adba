#include "kernels/recon/gating/gating.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/units.h"

namespace isocenter::recon {

absl::StatusOr<Acquisition> GatedAcquisition(const Acquisition& scan, ChosenViews chosen) {
  Acquisition gated = scan;
  gated.pixel_type = PixelType::kFloat32LineIntegrals;
  gated.calibration = nullptr;
  gated.trajectory.clear();
  for (const int view : chosen.views) {
    if (view < 0 || view >= static_cast<int>(scan.trajectory.size())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the chosen view is ", view, "; legal is 0 to ", scan.trajectory.size() - 1));
    }
    gated.trajectory.push_back(scan.trajectory[view]);
  }
  gated.gated = std::make_shared<const GatedScan>(GatedScan{
      .whole = scan.trajectory, .chosen = std::move(chosen), .calibration = scan.calibration});
  return gated;
}

double KeepChosenViews(const ChosenViews& chosen, RedundancyTable& table) {
  const bool closed = table.outline.full_scan && table.outline.arc <= 2 * kPi;
  const double gap = LargestGap(table.angular_step, chosen, closed);
  std::vector<double> steps = GatedSteps(table.angular_step, chosen, closed);
  const auto columns = static_cast<size_t>(table.columns);
  for (size_t i = 0; i < chosen.views.size(); ++i) {
    const size_t view = chosen.views[i];  // i or more
    std::copy_n(table.weight.begin() + view * columns, columns, table.weight.begin() + i * columns);
  }
  table.views = static_cast<int>(chosen.views.size());
  table.weight.resize(table.views * columns);
  table.angular_step = std::move(steps);
  return gap;
}

}  // namespace isocenter::recon
