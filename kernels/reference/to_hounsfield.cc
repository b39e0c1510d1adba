#include <cmath>

#include "kernels/ops/check.h"
#include "kernels/ops/operations.h"
#include "kernels/reference/device.h"
#include "kernels/reference/methods.h"

namespace isocenter::reference {
namespace {

class ToHounsfieldPlain final : public ops::ToHounsfield {
 public:
  absl::Status DoRun(const ops::HounsfieldScale& scale, ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    for (double& value : target->view().span()) {
      const double hounsfield = 1000 * (value - scale.mu_water_per_mm) / scale.mu_water_per_mm;
      value = std::isfinite(hounsfield) ? TrueOf(hounsfield, scale.table.points) : -1000;
    }
    return absl::OkStatus();
  }

 private:
  // In the segment that holds the value; the first and the last one go on.
  static double TrueOf(double measured, std::span<const ops::HounsfieldTable::Point> points) {
    for (size_t i = 0; i + 1 < points.size(); ++i) {
      const auto &low = points[i], &high = points[i + 1];
      if (measured >= high.measured_hu && i + 2 < points.size()) continue;
      const double part = (measured - low.measured_hu) / (high.measured_hu - low.measured_hu);
      return (1 - part) * low.true_hu + part * high.true_hu;
    }
    return measured;
  }
};

}  // namespace

std::unique_ptr<ops::ToHounsfield> NewToHounsfield() {
  return std::make_unique<ToHounsfieldPlain>();
}

}  // namespace isocenter::reference
