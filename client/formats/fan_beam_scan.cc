#include "client/formats/fan_beam_scan.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/formats/json_file.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"

namespace isocenter::formats {
namespace {

constexpr char kDescriptionFile[] = "fan_beam.json";
constexpr char kValuesFile[] = "sinogram.raw";
constexpr char kFormatName[] = "isocenter-fan-beam";
constexpr uint64_t kTextLimit = 64 << 10;
constexpr int kMostSlices = 4096;  // of a volume

/// The fields of a JSON object, which it must be, each asked for once; the first error stays.
class Fields {
 public:
  Fields(const nlohmann::json& object, std::string where)
      : object_(object), where_(std::move(where)) {}

  double Number(const std::string& name) {
    const nlohmann::json* value = Find(name);
    if (value == nullptr) return Fail(name, "is missing");
    if (!value->is_number()) return Fail(name, "is no number");
    return value->get<double>();
  }
  double Number(const std::string& name, double otherwise) {
    return Find(name) == nullptr ? otherwise : Number(name);
  }
  int Integer(const std::string& name, int least, int most) {
    const double value = Number(name);
    if (value == std::floor(value) && value >= least && value <= most) {
      return static_cast<int>(value);
    }
    Fail(name, absl::StrCat("is ", value, "; legal is a whole number from ", least, " to ", most));
    return least;
  }
  std::string Choice(const std::string& name, const std::vector<std::string>& legal) {
    const nlohmann::json* value = Find(name);
    if (value != nullptr && value->is_string()) {
      const auto text = value->get<std::string>();
      if (std::ranges::find(legal, text) != legal.end()) return text;
    }
    Fail(name, absl::StrCat("is missing or unknown; legal is ", absl::StrJoin(legal, ", ")));
    return "";
  }
  const nlohmann::json& Object(const std::string& name) {
    static const nlohmann::json none = nlohmann::json::object();
    const nlohmann::json* value = Find(name);
    return value != nullptr && value->is_object() ? *value : (Fail(name, "is missing"), none);
  }
  /// After all others: what was not asked for is a mistake of who wrote it.
  absl::Status Finish() {
    if (status_.ok()) {
      for (const auto& [name, value] : object_.items()) {
        if (!asked_.contains(name)) Fail(name, "is unknown");
      }
    }
    return status_;
  }

 private:
  const nlohmann::json* Find(const std::string& name) {
    asked_.insert(name);
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }
  double Fail(const std::string& name, const std::string& what) {
    if (status_.ok()) {
      status_ = absl::InvalidArgumentError(absl::StrCat(where_, ": \"", name, "\" ", what));
    }
    return 0;
  }

  const nlohmann::json& object_;
  const std::string where_;
  std::set<std::string> asked_;
  absl::Status status_;
};

absl::Status ReadDetector(const nlohmann::json& object, const std::string& where,
                          FanBeamGeometry& geometry) {
  Fields fields(object, absl::StrCat(where, ": detector"));
  const std::string kind = fields.Choice("kind", {"arc", "flat"});
  geometry.channels = fields.Integer("channels", 2, 65536);
  geometry.central_channel = fields.Number("central_channel", 0.5 * (geometry.channels - 1));
  if (kind == "flat") {
    geometry.detector = FanBeamGeometry::Detector::kFlat;
    geometry.channel_pitch_mm = fields.Number("pitch_mm");
    geometry.source_to_detector_mm = fields.Number("source_to_detector_mm");
  } else if (kind == "arc") {
    geometry.channel_angle = DegreesToRadians(fields.Number("channel_angle_deg"));
  }
  return fields.Finish();
}

}  // namespace

bool IsFanBeamScan(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path / kDescriptionFile, ignored);
}

absl::StatusOr<FanBeamScan> FanBeamScan::Open(const std::filesystem::path& directory) {
  const std::string where = (directory / kDescriptionFile).string();
  ISO_ASSIGN_OR_RETURN(const nlohmann::json json, ReadJsonObject(where, kTextLimit));
  Fields fields(json, where);
  fields.Choice("format", {kFormatName});
  fields.Integer("version", kFanBeamVersion, kFanBeamVersion);
  FanBeamGeometry geometry;
  geometry.source_to_axis_mm = fields.Number("source_to_axis_mm");
  geometry.views = fields.Integer("views", 4, 65536);
  geometry.first_angle = DegreesToRadians(fields.Number("first_angle_deg", 0));
  geometry.arc = DegreesToRadians(fields.Number("arc_deg"));
  const int slices = fields.Integer("slices", 1, kMostSlices);
  const double spacing = fields.Number("slice_spacing_mm", 1);
  const bool counts =
      fields.Choice("values", {"float32_line_integrals", "uint16_counts"}) == "uint16_counts";
  const double i0 = counts ? fields.Number("i0_counts") : 0;
  ISO_RETURN_IF_ERROR(ReadDetector(fields.Object("detector"), where, geometry));
  ISO_RETURN_IF_ERROR(fields.Finish());
  if (counts && !(i0 >= 1 && i0 <= 65535)) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": \"i0_counts\" is ", i0, "; legal is 1 to 65535"));
  }
  if (const absl::Status legal = ValidateFanBeam(geometry); !legal.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(where, ": ", legal.message()));
  }
  ISO_ASSIGN_OR_RETURN(InputFile values, InputFile::Open(directory / kValuesFile));
  const uint64_t expected = uint64_t(geometry.views) * slices * geometry.channels *
                            (counts ? sizeof(uint16_t) : sizeof(float));
  if (values.size() != expected) {
    return absl::DataLossError(absl::StrCat(values.name(), " has ", values.size(), " bytes, but ",
                                            kDescriptionFile, " states ", expected));
  }
  FanBeamScan scan(geometry, std::move(values));
  scan.slices_ = slices;
  scan.slice_spacing_mm_ = spacing;
  scan.counts_ = counts;
  scan.i0_counts_ = i0;
  return scan;
}

absl::Status FanBeamScan::Read(int64_t first, HostView3<float> lines) {
  const Shape3& shape = lines.shape();
  const int64_t values = shape.middle * shape.fast;
  std::vector<uint16_t> counts(counts_ ? values : 0);
  for (int64_t view = 0; view < shape.slow; ++view) {
    const int64_t at = (view * slices_ + first) * shape.fast;
    const std::span<float> rows(lines.row(view, 0), static_cast<size_t>(values));
    if (!counts_) {
      ISO_RETURN_IF_ERROR(values_.ReadAt(at * sizeof(float), std::as_writable_bytes(rows)));
      continue;
    }
    ISO_RETURN_IF_ERROR(
        values_.ReadAt(at * sizeof(uint16_t), std::as_writable_bytes(std::span(counts))));
    std::ranges::transform(counts, rows.begin(), [&](uint16_t count) {
      return static_cast<float>(-std::log(std::max<double>(count, 1) / i0_counts_));
    });
  }
  return absl::OkStatus();
}

}  // namespace isocenter::formats
