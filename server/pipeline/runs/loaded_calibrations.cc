#include "server/pipeline/runs/loaded_calibrations.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::pipeline {
absl::StatusOr<std::shared_ptr<const ops::Calibration>> LoadedCalibrations::Get(
    const jobs::UsedCalibration& used) {
  std::erase_if(loaded_, [](const auto& entry) { return entry.second.expired(); });
  const std::pair key(used.name, used.crc32c);
  if (const auto found = loaded_.find(key); found != loaded_.end()) {
    if (auto calibration = found->second.lock()) return calibration;
  }
  ISO_ASSIGN_OR_RETURN(std::shared_ptr<const ops::Calibration> calibration, Load(used));
  loaded_[key] = calibration;
  return calibration;
}

absl::StatusOr<std::shared_ptr<const ops::Calibration>> LoadedCalibrations::Load(
    const jobs::UsedCalibration& used) {
  if (store_ != nullptr) {
    for (const jobs::CalibrationLabel& label : store_->Labels()) {
      if (label.name != used.name || label.crc32c != used.crc32c) continue;
      // While it is read; from then on the plans that use it count it.
      ISO_ASSIGN_OR_RETURN(const scheduler::MemoryPromise reading,
                           host_memory_.Reserve(2 * label.bytes));
      return store_->Load(used);
    }
  }
  return absl::NotFoundError(absl::StrCat("the calibration '", used.name,
                                          "' is not there (any more) with the checksum ",
                                          absl::Hex(used.crc32c, absl::kZeroPad8)));
}

}  // namespace isocenter::pipeline
