#include <cmath>

#include "kernels/ops/check.h"
#include "kernels/ops/operations.h"
#include "kernels/reference/device.h"
#include "kernels/reference/methods.h"

namespace isocenter::reference {
namespace {

class ToHounsfieldPlain final : public ops::ToHounsfield {
 public:
  absl::Status DoRun(double mu_water_per_mm, ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    for (double& value : target->view().span()) {
      const double hounsfield = 1000 * (value - mu_water_per_mm) / mu_water_per_mm;
      value = std::isfinite(hounsfield) ? hounsfield : -1000;
    }
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<ops::ToHounsfield> NewToHounsfield() {
  return std::make_unique<ToHounsfieldPlain>();
}

}  // namespace isocenter::reference
