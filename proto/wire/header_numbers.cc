#include "proto/wire/header_numbers.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/base/units.h"
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

absl::Status CheckArcUnit(const v1::AcquisitionHeader& header) {
  const double arc = header.circular().arc_deg();
  if (arc == 0 || header.frame_count() < 2 || !(std::abs(arc) <= 2 * kPi)) return absl::OkStatus();
  return Illegal("circular.arc_deg", absl::StrCat(arc),
                 absl::StrCat("a magnitude of more than 6.2832, up to 720 degrees: was it given in "
                              "radians? These are ",
                              RadiansToDegrees(arc), " degrees"));
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
  Mistakes mistakes;
  mistakes.Add(check("tube_current_ma", exposure.tube_current_ma(), kMostCurrentMa));
  mistakes.Add(check("exposure_mas", exposure.exposure_mas(), kMost));
  mistakes.Add(check("dose_area_product_dgycm2", exposure.dose_area_product_dgycm2(), kMost));
  return mistakes.AsStatus();
}

absl::Status CheckHeaderNumbers(const v1::AcquisitionHeader& header) {
  Mistakes mistakes;
  mistakes.Add(CheckUpTo("deadline_seconds", header.deadline_seconds(), kLongestDeadline));
  mistakes.Add(CheckUpTo("frame_rate_hz", header.frame_rate_hz(), kHighestFrameRate));
  mistakes.Add(CheckExposure("exposure", header.exposure()));
  return mistakes.AsStatus();
}

}  // namespace isocenter::wire
