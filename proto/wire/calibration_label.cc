// All of a set but what its corrections compute with.
#include <cmath>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/identifier.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/calibration_scope.h"
#include "proto/wire/calibration.h"
#include "proto/wire/geometry.h"
#include "proto/wire/illegal.h"
#include "proto/wire/verification.h"

namespace isocenter::wire {
namespace {

constexpr absl::Duration kLongestValidity = absl::Hours(24 * 3653);  // ten years
constexpr absl::string_view kPngSignature = "\x89PNG\r\n\x1a\n";

/// As it is shown in a message: of printable characters, and not too long.
std::string Shown(absl::string_view text) {
  return absl::StrCat("'", absl::CHexEscape(text.substr(0, 80)), "'");
}

absl::Status CheckIdentifier(absl::string_view field, absl::string_view text, size_t least) {
  if (IsIdentifier(text, least)) return absl::OkStatus();
  return Illegal(field, Shown(text),
                 absl::StrCat(least == 0 ? "at most" : "1 to", " 64 characters of [A-Za-z0-9_.-]"));
}

/// Of UTF-8, whose validity the parser has seen to.
absl::Status CheckText(absl::string_view field, absl::string_view text, size_t least, size_t most) {
  size_t characters = 0;
  bool printable = true;
  for (const char c : text) {
    characters += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    printable = printable && !absl::ascii_iscntrl(c);
  }
  if (printable && characters >= least && characters <= most) return absl::OkStatus();
  return Illegal(field, Shown(text),
                 absl::StrCat(least, " to ", most, " characters, none of them for control"));
}

absl::Status CheckTime(absl::string_view field, const google::protobuf::Timestamp& time) {
  constexpr int64_t kYear1 = -62135596800, kYear9999 = 253402300799;
  if (time.seconds() >= kYear1 && time.seconds() <= kYear9999 && time.nanos() >= 0 &&
      time.nanos() < 1'000'000'000) {
    return absl::OkStatus();
  }
  return Illegal(field, absl::StrCat(time.seconds(), " s and ", time.nanos(), " ns since 1970"),
                 "the years 1 to 9999");
}

absl::Status CheckNumber(absl::string_view field, double value, double least, double most) {
  if (value >= least && value <= most) return absl::OkStatus();  // not of not-a-number
  return Illegal(field, absl::StrCat(value), absl::StrCat(least, " to ", most));
}

absl::Status CheckTimes(const v1::CalibrationSet& set) {
  if (!set.has_valid_from()) return Illegal("valid_from", "unset", "a time");
  if (!set.has_valid_until()) return Illegal("valid_until", "unset", "a time");
  ISO_RETURN_IF_ERROR(CheckTime("valid_from", set.valid_from()));
  ISO_RETURN_IF_ERROR(CheckTime("valid_until", set.valid_until()));
  ISO_RETURN_IF_ERROR(CheckTime("created", set.created()));
  const absl::Time from = TimeFromProto(set.valid_from()), until = TimeFromProto(set.valid_until());
  if (until > from && until - from <= kLongestValidity) return absl::OkStatus();
  return Illegal("valid_until", absl::FormatTime(until, absl::UTCTimeZone()),
                 absl::StrCat("after valid_from, ", absl::FormatTime(from, absl::UTCTimeZone()),
                              ", by at most 10 years"));
}

absl::Status CheckDetector(const v1::DetectorGeometry& detector) {
  ISO_RETURN_IF_ERROR(DetectorFromProto(detector).status());
  for (const auto& [field, pitch] : {std::pair("detector.pitch_u_mm", detector.pitch_u_mm()),
                                     std::pair("detector.pitch_v_mm", detector.pitch_v_mm())}) {
    if (!(pitch > 0 && pitch <= 10)) {
      return Illegal(field, absl::StrCat(pitch), "more than 0, at most 10");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckQuality(const v1::CalibrationSet& set) {
  if (set.quality_size() > kMostQualityFigures) {
    return Illegal("quality", absl::StrCat("a list of ", set.quality_size()),
                   absl::StrCat("at most ", kMostQualityFigures));
  }
  for (int i = 0; i < set.quality_size(); ++i) {
    const v1::QualityFigure& figure = set.quality(i);
    const std::string field = absl::StrCat("quality[", i, "]");
    ISO_RETURN_IF_ERROR(CheckText(absl::StrCat(field, ".name"), figure.name(), 1, 64));
    ISO_RETURN_IF_ERROR(CheckText(absl::StrCat(field, ".unit"), figure.unit(), 0, 16));
    if (!std::isfinite(figure.value())) {
      return Illegal(absl::StrCat(field, ".value"), absl::StrCat(figure.value()),
                     "a finite number");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckVerification(const v1::CalibrationSet& set) {
  if (!set.has_verification()) return absl::OkStatus();
  const v1::Verification& seen = set.verification();
  ISO_RETURN_IF_ERROR(CheckTime("verification.time", seen.time()));
  const ops::Validity validity{TimeFromProto(set.valid_from()), TimeFromProto(set.valid_until())};
  if (const absl::Time at = TimeFromProto(seen.time()); !validity.Has(at)) {
    return Illegal("verification.time", absl::FormatTime(at, absl::UTCTimeZone()),
                   "from valid_from until valid_until");
  }
  ISO_RETURN_IF_ERROR(CheckText("verification.scan", seen.scan(), 0, 128));
  const double off = seen.tolerance_hu();
  ISO_RETURN_IF_ERROR(
      CheckNumber("verification.tolerance_hu", off, kLeastToleranceHu, kMostToleranceHu));
  for (const auto& [field, value, least, most] :
       {std::tuple("diameter_mm", seen.diameter_mm(), 30.0, 500.0),
        std::tuple("water_hu", seen.water_hu(), -off, off),
        std::tuple("cupping_hu", seen.cupping_hu(), -off, off),
        std::tuple("border_hu", seen.border_hu(), -off, off),
        std::tuple("air_hu", seen.air_hu(), -1000 - kAirTolerances * off,
                   -1000 + kAirTolerances * off),
        std::tuple("noise_hu", seen.noise_hu(), 0.0, 1000.0)}) {
    ISO_RETURN_IF_ERROR(CheckNumber(absl::StrCat("verification.", field), value, least, most));
  }
  constexpr int kMostParts = 16;
  if (seen.part_size() >= 1 && seen.part_size() <= kMostParts) return absl::OkStatus();
  return Illegal("verification.part", absl::StrCat("a list of ", seen.part_size()),
                 absl::StrCat("1 to ", kMostParts));
}

absl::Status CheckPicture(const std::string& png) {
  if (png.empty()) return absl::OkStatus();
  if (static_cast<int64_t>(png.size()) > kMostPictureBytes) {
    return Illegal("picture_png", absl::StrCat(png.size(), " bytes"),
                   absl::StrCat("at most ", kMostPictureBytes));
  }
  if (absl::string_view(png).substr(0, kPngSignature.size()) == kPngSignature) {
    return absl::OkStatus();
  }
  return Illegal("picture_png", absl::StrCat("a file that begins with ", Shown(png.substr(0, 8))),
                 "PNG, or none");
}

absl::Status CheckAirSweepSize(const v1::CalibrationSet& set) {
  const v1::AirSweep& sweep = set.air_sweep();
  if (sweep.angle_deg_size() > ops::kMostAirAngles) {
    return Illegal("air_sweep.angle_deg", absl::StrCat("a list of ", sweep.angle_deg_size()),
                   absl::StrCat("2 to ", ops::kMostAirAngles));
  }
  const auto blocks = [](uint32_t pixels) {
    return size_t{(pixels + ops::kAirTile - 1) / ops::kAirTile};
  };
  const size_t bytes = 4 * static_cast<size_t>(sweep.angle_deg_size()) *
                       blocks(set.detector().columns()) * blocks(set.detector().rows());
  if (sweep.relative().size() == bytes) return absl::OkStatus();
  return Illegal("air_sweep.relative", absl::StrCat(sweep.relative().size(), " bytes"),
                 absl::StrCat(bytes, ", which are 4 for each block of each angle"));
}

absl::Status CheckMapSizes(const v1::CalibrationSet& set) {
  const size_t pixels = size_t{set.detector().columns()} * set.detector().rows();
  const v1::PixelResponse& response = set.response();
  for (const auto& [field, map] : {std::pair("response.offset_counts", &response.offset_counts()),
                                   std::pair("response.air_counts", &response.air_counts())}) {
    if (set.has_response() && map->size() != 4 * pixels) {
      return Illegal(field, absl::StrCat(map->size(), " bytes"),
                     absl::StrCat(4 * pixels, ", which are 4 x ", set.detector().columns(), " x ",
                                  set.detector().rows()));
    }
  }
  ISO_RETURN_IF_ERROR(CheckAirSweepSize(set));
  const int hardness = set.water().hardness_size();
  if (hardness != 0 && static_cast<uint32_t>(hardness) != set.detector().columns()) {
    return Illegal("water.hardness", absl::StrCat("a list of ", hardness),
                   absl::StrCat("one for each of the detector's ", set.detector().columns(),
                                " columns, or none"));
  }
  const auto most = static_cast<int>(kMostDefectiveShare * static_cast<double>(pixels));
  if (set.defects().pixel_size() <= most) return absl::OkStatus();
  return Illegal("defects.pixel", absl::StrCat("a list of ", set.defects().pixel_size()),
                 absl::StrCat("at most ", most, ", a tenth of the pixels"));
}

}  // namespace

absl::Time TimeFromProto(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

void SetTime(absl::Time time, google::protobuf::Timestamp& proto) {
  const int64_t seconds = absl::ToUnixSeconds(time);
  proto.set_seconds(seconds);
  proto.set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds))));
}

absl::Status CheckCalibrationLabel(const v1::CalibrationSet& set) {
  ISO_RETURN_IF_ERROR(CheckIdentifier("name", set.name(), 1));
  ISO_RETURN_IF_ERROR(CheckIdentifier("station_name", set.station_name(), 1));
  ISO_RETURN_IF_ERROR(CheckIdentifier("detector_mode", set.detector_mode(), 0));
  ISO_RETURN_IF_ERROR(CheckDetector(set.detector()));
  if (!(set.tube_voltage_kv() >= 0 && set.tube_voltage_kv() <= 300)) {
    return Illegal("tube_voltage_kv", absl::StrCat(set.tube_voltage_kv()), "0 to 300");
  }
  ISO_RETURN_IF_ERROR(CheckTimes(set));
  if (set.geometry_frames() > uint64_t{kMaxViews}) {
    return Illegal("geometry_frames", absl::StrCat(set.geometry_frames()),
                   absl::StrCat("0 to ", kMaxViews));
  }
  ISO_RETURN_IF_ERROR(CheckText("description", set.description(), 0, 256));
  ISO_RETURN_IF_ERROR(CheckQuality(set));
  ISO_RETURN_IF_ERROR(CheckVerification(set));
  ISO_RETURN_IF_ERROR(CheckPicture(set.picture_png()));
  return CheckMapSizes(set);
}

v1::CalibrationSet CalibrationLabel(const v1::CalibrationSet& set) {
  v1::CalibrationSet label;
  label.set_name(set.name());
  label.set_station_name(set.station_name());
  label.set_detector_mode(set.detector_mode());
  *label.mutable_detector() = set.detector();
  label.set_tube_voltage_kv(set.tube_voltage_kv());
  *label.mutable_valid_from() = set.valid_from();
  *label.mutable_valid_until() = set.valid_until();
  if (set.has_created()) *label.mutable_created() = set.created();
  label.set_description(set.description());
  label.set_geometry_frames(set.geometry_frames());
  *label.mutable_quality() = set.quality();
  if (set.has_verification()) *label.mutable_verification() = set.verification();
  return label;
}

}  // namespace isocenter::wire
