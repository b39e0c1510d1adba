#include <algorithm>
#include <cmath>

#include "kernels/gles/device.h"
#include "kernels/gles/methods.h"

namespace isocenter::gles {
namespace {

class ToHounsfield final : public ops::ToHounsfield {
 public:
  absl::Status DoRun(const ops::HounsfieldScale& scale, ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    const auto factor = static_cast<float>(1000 / scale.mu_water_per_mm);
    const ops::HounsfieldHinges hinges = ops::HingesOf(scale.table);
    for (float& voxel : target->view().span()) {
      const float measured = std::fma(voxel, factor, -1000.f);
      float hounsfield = std::fma(measured, hinges.slope, hinges.offset);
      for (int k = 0; k < hinges.count; ++k) {
        hounsfield += hinges.turn[k] * std::max(0.f, measured - hinges.at[k]);
      }
      voxel = std::isfinite(measured) ? hounsfield : -1000.f;
    }
    return absl::OkStatus();
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::ToHounsfield>> NewToHounsfield(ops::Session& session) {
  ISO_RETURN_IF_ERROR(AsGlesSession(session).status());
  return std::make_unique<ToHounsfield>();
}

}  // namespace isocenter::gles
