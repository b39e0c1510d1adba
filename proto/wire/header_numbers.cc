#include "proto/wire/header_numbers.h"

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "proto/wire/illegal.h"
#include "proto/wire/mistakes.h"

namespace isocenter::wire {
namespace {

constexpr double kLongestDeadline = 604800;  // a week, in seconds
constexpr double kHighestFrameRate = 10000;

bool IsTubeVoltage(double kilovolts) {
  return kilovolts >= kLeastTubeVoltage && kilovolts <= kMostTubeVoltage;
}

}  // namespace

absl::Status CheckTubeVoltage(absl::string_view field, double kilovolts) {
  if (kilovolts == 0 || IsTubeVoltage(kilovolts)) return absl::OkStatus();
  const char* meant = "";
  if (IsTubeVoltage(kilovolts * 1000)) meant = ": was it given in MV?";
  if (IsTubeVoltage(kilovolts / 1000)) meant = ": was it given in V?";
  return Illegal(
      field, absl::StrCat(kilovolts),
      absl::StrCat("0 (unknown) or ", kLeastTubeVoltage, " to ", kMostTubeVoltage, " kV", meant));
}

absl::Status CheckUpTo(absl::string_view field, double value, double most) {
  if (value >= 0 && value <= most) return absl::OkStatus();
  return Illegal(field, absl::StrCat(value), absl::StrCat("0 to ", most));
}

absl::Status CheckExposure(absl::string_view field, const v1::Exposure& exposure) {
  constexpr double kMostCurrentMa = 10000, kMost = 1e6;
  const auto check = [&](const char* name, double value, double most) {
    if (value >= 0 && value <= most) return absl::OkStatus();
    return Illegal(absl::StrCat(field, ".", name), absl::StrCat(value),
                   absl::StrCat("0 to ", static_cast<int64_t>(most)));
  };
  ISO_RETURN_IF_ERROR(check("tube_current_ma", exposure.tube_current_ma(), kMostCurrentMa));
  ISO_RETURN_IF_ERROR(check("exposure_mas", exposure.exposure_mas(), kMost));
  return check("dose_area_product_dgycm2", exposure.dose_area_product_dgycm2(), kMost);
}

absl::Status CheckHeaderNumbers(const v1::AcquisitionHeader& header) {
  Mistakes mistakes;
  mistakes.Add(CheckUpTo("deadline_seconds", header.deadline_seconds(), kLongestDeadline));
  mistakes.Add(CheckUpTo("frame_rate_hz", header.frame_rate_hz(), kHighestFrameRate));
  mistakes.Add(CheckExposure("exposure", header.exposure()));
  return mistakes.AsStatus();
}

}  // namespace isocenter::wire
