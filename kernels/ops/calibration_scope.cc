#include "kernels/ops/calibration_scope.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace isocenter::ops {
namespace {

std::string Size(const Detector& detector) {
  return absl::StrCat(detector.columns, "x", detector.rows, " pixels of ", detector.pitch_u_mm, "x",
                      detector.pitch_v_mm, " mm");
}

}  // namespace

std::vector<std::string> Misfits(const CalibrationScope& set, const CalibrationScope& acquisition) {
  std::vector<std::string> misfits;
  if (set.matrices) misfits.emplace_back("has matrices, which correct no frames");
  const auto differs = [&](const char* what, const std::string& its, const std::string& asked) {
    misfits.push_back(absl::StrCat("is of ", what, " ", its, ", and the acquisition of ", asked));
  };
  const auto quoted = [](const std::string& text) { return absl::StrCat("'", text, "'"); };
  if (set.station_name != acquisition.station_name) {
    differs("station", quoted(set.station_name), quoted(acquisition.station_name));
  }
  if (set.detector_mode != acquisition.detector_mode) {
    differs("detector mode", quoted(set.detector_mode), quoted(acquisition.detector_mode));
  }
  if (set.detector != acquisition.detector) {
    differs("a detector of", Size(set.detector), Size(acquisition.detector));
  }
  const double kv = acquisition.tube_voltage_kv;
  if (set.tube_voltage_kv != 0 && !(std::abs(set.tube_voltage_kv - kv) <= kSameVoltageKv)) {
    differs("tube voltage", absl::StrCat(set.tube_voltage_kv, " kV"),
            kv == 0 ? "one that is not told" : absl::StrCat(kv, " kV"));
  }
  return misfits;
}

std::string MisfitText(absl::string_view name, const std::vector<std::string>& misfits) {
  return absl::StrCat("calibration '", name, "' does not fit: it ",
                      absl::StrJoin(misfits, "; it "));
}

std::string NotValidText(absl::string_view name, const Validity& validity) {
  const auto minute = [](absl::Time time) {
    return absl::FormatTime("%Y-%m-%d %H:%M UTC", time, absl::UTCTimeZone());
  };
  return absl::StrCat("calibration '", name, "' is valid from ", minute(validity.from), " to ",
                      minute(validity.until), ", which is not now");
}

std::string NoWaterText(absl::string_view name) {
  return absl::StrCat("calibration '", name,
                      "' has no water polynomial: HU are off, and cupped by beam hardening; "
                      "`isocenter calibrate beam-hardening --into` measures one");
}

}  // namespace isocenter::ops
