#include "kernels/ops/calibration_scope.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "kernels/base/crc32c.h"

namespace isocenter::ops {
namespace {

std::string Size(const Detector& detector) {
  return absl::StrCat(detector.columns, "x", detector.rows, " pixels of ", detector.pitch_u_mm, "x",
                      detector.pitch_v_mm, " mm");
}

/// Of numbers one after the other, each as the eight or four bytes that a set's file has.
class NumbersChecksum {
 public:
  void Add(std::initializer_list<double> numbers) {
    crc_ = ExtendCrc32c(crc_, std::as_bytes(std::span(numbers.begin(), numbers.size())));
  }
  void Add(const std::vector<double>& numbers) {
    crc_ = ExtendCrc32c(crc_, std::as_bytes(std::span(numbers)));
  }
  void Add(const std::vector<float>& numbers) {
    crc_ = ExtendCrc32c(crc_, std::as_bytes(std::span(numbers)));
  }
  uint32_t crc() const { return crc_; }

 private:
  uint32_t crc_ = 0;
};

uint32_t ChecksumOf(const ScatterKernels& kernels) {
  NumbersChecksum sum;
  sum.Add({kernels.mu_water_per_mm, kernels.gamma_per_mm});
  for (const ScatterKernels::Group& group : kernels.groups) {
    sum.Add({group.from_mm, group.amplitude, group.alpha, group.beta, group.narrow_sigma_mm,
             group.wide_sigma_mm, group.wide_share});
  }
  return sum.crc();
}

const PartChecksum* Find(const std::vector<PartChecksum>& parts, absl::string_view name) {
  const auto found = std::ranges::find(parts, name, &PartChecksum::part);
  return found == parts.end() ? nullptr : &*found;
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

std::vector<PartChecksum> HounsfieldParts(const Calibration& calibration) {
  std::vector<PartChecksum> parts;
  if (!calibration.lag.empty()) {
    NumbersChecksum sum;
    for (const LagTerm& term : calibration.lag) sum.Add({term.share, term.release});
    parts.push_back({"lag", sum.crc()});
  }
  if (!calibration.air_sweep.angles.empty()) {
    // Not the angles, which are kept in degrees.
    NumbersChecksum sum;
    sum.Add(calibration.air_sweep.relative);
    parts.push_back({"air_sweep", sum.crc()});
  }
  if (!calibration.glare.empty()) {
    NumbersChecksum sum;
    for (const SpreadTerm& term : calibration.glare) sum.Add({term.share, term.sigma_mm});
    parts.push_back({"glare", sum.crc()});
  }
  if (calibration.scatter) parts.push_back({"scatter", ChecksumOf(*calibration.scatter)});
  if (!calibration.water.coefficient.empty()) {
    NumbersChecksum sum;
    sum.Add(calibration.water.coefficient);
    sum.Add(calibration.water.hardness);
    sum.Add({calibration.mu_water_per_mm});
    parts.push_back({"water", sum.crc()});
  }
  return parts;
}

std::string StaleTableText(const Calibration& calibration, bool computed_scatter) {
  if (calibration.hounsfield.points.empty() || !calibration.hounsfield.made_with) return "";
  const std::vector<PartChecksum>& then = *calibration.hounsfield.made_with;
  std::vector<PartChecksum> now = HounsfieldParts(calibration);
  if (computed_scatter) {
    // What is taken off is the same scatter, whatever finds it.
    std::erase_if(now, [](const PartChecksum& part) { return part.part == "scatter"; });
    const PartChecksum* const before = Find(then, "scatter");
    now.push_back({"scatter", before != nullptr ? before->crc32c : 0});
  }
  std::vector<std::string> differ;
  for (const PartChecksum& part : now) {
    const PartChecksum* const before = Find(then, part.part);
    if (before != nullptr && *before == part) continue;
    differ.push_back(absl::StrCat(
        part.part, before == nullptr ? " was not corrected then" : " was another then"));
  }
  for (const PartChecksum& part : then) {
    if (Find(now, part.part) == nullptr) {
      differ.push_back(absl::StrCat(part.part, " was corrected then and is not now"));
    }
  }
  if (differ.empty()) return "";
  return absl::StrCat(
      "the HU table of calibration '", calibration.name,
      "' was measured with other corrections than are applied now: ", absl::StrJoin(differ, ", "),
      "; HU are off by what that changes; `isocenter calibrate hu --replace` "
      "measures the table anew");
}

std::string FittedRangesText(const Calibration& calibration) {
  std::vector<std::string> parts;
  const auto add = [&](const char* part, double thickest_mm) {
    parts.push_back(thickest_mm > 0
                        ? absl::StrFormat("%s fitted up to %.0f mm of water", part, thickest_mm)
                        : absl::StrCat(part, ": range unknown"));
  };
  if (!calibration.water.coefficient.empty()) add("beam hardening", calibration.water.thickest_mm);
  if (calibration.scatter) add("scatter", calibration.scatter->thickest_mm);
  return absl::StrJoin(parts, ", ");
}

}  // namespace isocenter::ops
