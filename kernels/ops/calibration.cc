#include "kernels/ops/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/ops/hounsfield.h"

namespace isocenter::ops {
namespace {

absl::Status Illegal(absl::string_view field, double value, absl::string_view legal) {
  return absl::InvalidArgumentError(absl::StrCat(field, " is ", value, "; legal is ", legal));
}

absl::Status CheckRange(absl::string_view field, double value, double low, double high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return Illegal(field, value, absl::StrCat(low, " to ", high));
}

absl::Status CheckCount(absl::string_view field, size_t count, size_t low, size_t high) {
  if (count >= low && count <= high) return absl::OkStatus();
  return Illegal(absl::StrCat("the number of ", field), static_cast<double>(count),
                 absl::StrCat(low, " to ", high));
}

// What is less than a count would make noise into light without end.
constexpr float kLeastAirCounts = 1;

absl::Status CheckMap(absl::string_view field, const std::vector<float>& map,
                      const Detector& detector, float least) {
  const size_t pixels = size_t(detector.rows) * size_t(detector.columns);
  if (map.size() != pixels) {
    return absl::InvalidArgumentError(absl::StrCat(field, " has ", map.size(), " values; legal is ",
                                                   pixels, ", which are ", detector.columns, " x ",
                                                   detector.rows));
  }
  for (size_t i = 0; i < pixels; ++i) {
    if (map[i] >= least && map[i] <= 65535) continue;
    return Illegal(
        absl::StrCat(field, " of column ", i % detector.columns, ", row ", i / detector.columns),
        map[i], absl::StrCat(least, " to 65535"));
  }
  return absl::OkStatus();
}

class DefectGrid {
 public:
  DefectGrid(const DefectMap& defects, const Detector& detector)
      : detector_(detector), defective_(size_t(detector.rows) * size_t(detector.columns)) {
    for (const int32_t pixel : defects.pixels) defective_[pixel] = true;
  }
  // A good pixel within reach in this direction.
  bool GoodPixel(int32_t pixel, int du, int dv) const {
    int u = pixel % detector_.columns, v = pixel / detector_.columns;
    for (int step = 0; step < kDefectReach; ++step) {
      u += du;
      v += dv;
      if (u < 0 || v < 0 || u >= detector_.columns || v >= detector_.rows) return false;
      if (!defective_[size_t(v) * detector_.columns + u]) return true;
    }
    return false;
  }
  bool HasNeighbours(int32_t pixel) const {
    constexpr std::array<std::pair<int, int>, 4> kDirections = {{{1, 0}, {0, 1}, {1, 1}, {1, -1}}};
    return std::any_of(kDirections.begin(), kDirections.end(), [&](const auto& direction) {
      const auto [du, dv] = direction;
      return GoodPixel(pixel, du, dv) || GoodPixel(pixel, -du, -dv);
    });
  }

 private:
  const Detector detector_;
  std::vector<bool> defective_;
};

}  // namespace

absl::Status CheckPixelResponse(const PixelResponse& response, const Detector& detector) {
  ISO_RETURN_IF_ERROR(CheckMap("offset_counts", response.offset_counts, detector, 0));
  ISO_RETURN_IF_ERROR(CheckMap("air_counts", response.air_counts, detector, kLeastAirCounts));
  if (response.full_scale_counts == 0) return absl::OkStatus();
  return CheckRange("full_scale_counts", response.full_scale_counts, 1, 65535);
}

absl::Status CheckDefectMap(const DefectMap& defects, const Detector& detector) {
  const int64_t pixels = int64_t{detector.rows} * detector.columns;
  int64_t least = 0;
  for (const int32_t pixel : defects.pixels) {
    if (pixel < least || pixel >= pixels) {
      return Illegal("defective pixel", pixel,
                     absl::StrCat(least, " to ", pixels - 1, ", ascending"));
    }
    least = int64_t{pixel} + 1;
  }
  const DefectGrid grid(defects, detector);
  for (const int32_t pixel : defects.pixels) {
    if (grid.HasNeighbours(pixel)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the defective pixel in column ", pixel % detector.columns, ", row ",
                     pixel / detector.columns, " has no good pixel within ", kDefectReach,
                     " along its row, its column or a diagonal; legal are defects that have one"));
  }
  return absl::OkStatus();
}

absl::Status CheckLag(const std::vector<LagTerm>& lag) {
  ISO_RETURN_IF_ERROR(CheckCount("lag terms", lag.size(), 0, kMostLagTerms));
  double sum = 0;
  for (const LagTerm& term : lag) {
    ISO_RETURN_IF_ERROR(CheckRange("lag.share", term.share, 0, 0.5));
    ISO_RETURN_IF_ERROR(CheckRange("lag.release", term.release, 1e-6, 1));
    sum += term.share;
  }
  return CheckRange("the sum of lag.share", sum, 0, 0.9);
}

absl::Status CheckSpread(const std::vector<SpreadTerm>& spread) {
  ISO_RETURN_IF_ERROR(CheckCount("glare terms", spread.size(), 0, kMostSpreadTerms));
  double sum = 0;
  for (const SpreadTerm& term : spread) {
    ISO_RETURN_IF_ERROR(CheckRange("glare.share", term.share, 0, 0.5));
    ISO_RETURN_IF_ERROR(CheckRange("glare.sigma_mm", term.sigma_mm, 0.1, 1000));
    sum += term.share;
  }
  return CheckRange("the sum of glare.share", sum, 0, 0.5);
}

absl::Status CheckAirStrips(const AirStrips& air, const Detector& detector) {
  if (air.columns == 0) return absl::OkStatus();
  if (detector.rows < kAirTile || detector.columns < 2 * kAirTile) {
    return absl::InvalidArgumentError(absl::StrCat(
        "air.columns is ", air.columns, " on a detector of ", detector.columns, " x ",
        detector.rows, " pixels; legal is 0 on less than ", 2 * kAirTile, " x ", kAirTile));
  }
  return CheckRange("air.columns", air.columns, kAirTile, detector.columns / 2);
}

absl::Status CheckAirSweep(const AirSweep& sweep, const Detector& detector) {
  if (sweep.angles.empty() && sweep.relative.empty()) return absl::OkStatus();
  ISO_RETURN_IF_ERROR(
      CheckCount("angles of the air sweep", sweep.angles.size(), 2, kMostAirAngles));
  constexpr double kRounding = 1e-9;  // of degrees that became radians
  double before = 0;
  for (size_t i = 0; i < sweep.angles.size(); ++i) {
    const double degrees = RadiansToDegrees(sweep.angles[i]);
    ISO_RETURN_IF_ERROR(CheckRange("air_sweep.angle_deg", degrees, -720, 720));
    const double step = degrees - std::exchange(before, degrees);
    if (i == 0 || (step > 0 && step <= kMostAirStepDeg + kRounding)) continue;
    return Illegal("the step to the next air_sweep.angle_deg", step,
                   absl::StrCat("more than 0, at most ", kMostAirStepDeg));
  }
  ISO_RETURN_IF_ERROR(CheckRange("the arc of air_sweep.angle_deg",
                                 RadiansToDegrees(sweep.angles.back() - sweep.angles.front()), 0,
                                 361));
  const size_t blocks = size_t(AirSweep::Blocks(detector.columns)) *
                        size_t(AirSweep::Blocks(detector.rows)) * sweep.angles.size();
  ISO_RETURN_IF_ERROR(CheckCount("values of the air sweep", sweep.relative.size(), blocks, blocks));
  for (const float value : sweep.relative) {
    ISO_RETURN_IF_ERROR(CheckRange("air_sweep.relative", value, 0.2, 5));
  }
  return absl::OkStatus();
}

absl::Status CheckScatterKernels(const ScatterKernels& kernels) {
  ISO_RETURN_IF_ERROR(CheckCount("scatter groups", kernels.groups.size(), 1, kMostScatterGroups));
  ISO_RETURN_IF_ERROR(CheckRange("scatter.mu_water_per_mm", kernels.mu_water_per_mm, 0.001, 0.1));
  ISO_RETURN_IF_ERROR(CheckRange("scatter.gamma_per_mm", kernels.gamma_per_mm, 0, 0.1));
  ISO_RETURN_IF_ERROR(CheckRange("scatter.thickest_mm", kernels.thickest_mm, 0, kMostFittedMm));
  double before = 0;
  for (size_t i = 0; i < kernels.groups.size(); ++i) {
    const ScatterKernels::Group& group = kernels.groups[i];
    ISO_RETURN_IF_ERROR(CheckRange("scatter.from_mm", group.from_mm, before, 2000));
    if (i == 0 ? group.from_mm != 0 : group.from_mm == before) {
      return Illegal("scatter.from_mm", group.from_mm,
                     i == 0 ? "0 for the first group" : absl::StrCat("more than ", before));
    }
    before = group.from_mm;
    ISO_RETURN_IF_ERROR(CheckRange("scatter.amplitude", group.amplitude, 0, 10));
    ISO_RETURN_IF_ERROR(CheckRange("scatter.alpha", group.alpha, -2, 2));
    ISO_RETURN_IF_ERROR(CheckRange("scatter.beta", group.beta, 0, 4));
    ISO_RETURN_IF_ERROR(CheckRange("scatter.narrow_sigma_mm", group.narrow_sigma_mm, 1, 1000));
    ISO_RETURN_IF_ERROR(CheckRange("scatter.wide_sigma_mm", group.wide_sigma_mm, 1, 1000));
    ISO_RETURN_IF_ERROR(CheckRange("scatter.wide_share", group.wide_share, 0, 1));
  }
  return absl::OkStatus();
}

absl::Status CheckScatterModel(const ScatterModel& model) {
  return CheckRange("scatter_model.scale", model.scale, 0.01, 10);
}

absl::Status CheckWaterPolynomial(const WaterPolynomial& polynomial) {
  const std::vector<double>& c = polynomial.coefficient;
  ISO_RETURN_IF_ERROR(CheckCount("water coefficients", c.size(), 0, 6));
  ISO_RETURN_IF_ERROR(CheckRange("water.thickest_mm", polynomial.thickest_mm, 0, kMostFittedMm));
  if (c.empty()) return absl::OkStatus();
  // A slope that is lost between two of these would make neighbouring thicknesses one.
  constexpr int kPoints = 1200;
  const auto hardest = std::max_element(polynomial.hardness.begin(), polynomial.hardness.end());
  const double longest =
      kLongestLineIntegral + (hardest == polynomial.hardness.end() ? 0 : double{*hardest});
  double before = 0;
  for (int i = 1; i <= kPoints; ++i) {
    const double p = longest * i / kPoints;
    double value = 0;
    for (size_t n = c.size(); n > 0; --n) value = (value + c[n - 1]) * p;
    if (!(value > before) || !std::isfinite(value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the water polynomial is ", value, " at ", p, " after ", before,
                       "; legal are finite ones that ascend from 0 to ", longest));
    }
    before = value;
  }
  return absl::OkStatus();
}

absl::Status CheckHardness(const WaterPolynomial& polynomial, const Detector& detector) {
  if (polynomial.hardness.empty()) return absl::OkStatus();
  if (polynomial.coefficient.empty()) {
    return absl::InvalidArgumentError(
        "water.hardness is given without water.coefficient; legal is with it");
  }
  const auto columns = static_cast<size_t>(detector.columns);
  ISO_RETURN_IF_ERROR(
      CheckCount("values of water.hardness", polynomial.hardness.size(), columns, columns));
  for (const float hardness : polynomial.hardness) {
    ISO_RETURN_IF_ERROR(CheckRange("water.hardness", hardness, 0, kMostHardness));
  }
  return absl::OkStatus();
}

/// Of air and of water: scatter that nothing corrects darkens by 300 HU, and what is more is a
/// table of another unit.
constexpr double kMostTableShiftHu = 500;

absl::Status CheckHounsfieldTable(const HounsfieldTable& table) {
  if (table.points.empty()) return absl::OkStatus();
  ISO_RETURN_IF_ERROR(CheckCount("points of the HU table", table.points.size(), 2, 32));
  const HounsfieldTable::Point* before = nullptr;
  for (const HounsfieldTable::Point& point : table.points) {
    ISO_RETURN_IF_ERROR(CheckRange("hounsfield.measured_hu", point.measured_hu, -1100, 30000));
    ISO_RETURN_IF_ERROR(CheckRange("hounsfield.true_hu", point.true_hu, -1100, 30000));
    // Slopes beyond ten would be noise made into tissue.
    if (before != nullptr) {
      const double measured = point.measured_hu - before->measured_hu;
      const double is = point.true_hu - before->true_hu;
      if (!(measured > 0 && is > 0 && is <= 10 * measured && measured <= 10 * is)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "the HU table goes from (", before->measured_hu, ", ", before->true_hu, ") to (",
            point.measured_hu, ", ", point.true_hu, "); legal are slopes of 0.1 to 10"));
      }
    }
    before = &point;
  }
  for (const double fixed : {-1000.0, 0.0}) {
    const double is = HounsfieldOf({.mu_water_per_mm = 1, .table = table}, 1 + fixed / 1000);
    if (std::abs(is - fixed) <= kMostTableShiftHu) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "the HU table makes ", is, " of ", fixed, " HU (", fixed == 0 ? "water" : "air",
        "); legal are shifts of at most ", kMostTableShiftHu,
        " HU there: are the true values Hounsfield units (air -1000, water 0)?"));
  }
  if (!table.made_with) return absl::OkStatus();
  ISO_RETURN_IF_ERROR(
      CheckCount("parts of hounsfield.made_with", table.made_with->size(), 0, kMostTableParts));
  for (const PartChecksum& part : *table.made_with) {
    ISO_RETURN_IF_ERROR(
        CheckCount("characters of hounsfield.made_with.part", part.part.size(), 1, 64));
    if (std::ranges::all_of(part.part, [](char c) { return absl::ascii_islower(c) || c == '_'; })) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat("hounsfield.made_with.part is '",
                                                   absl::CHexEscape(part.part),
                                                   "'; legal are names of [a-z_]"));
  }
  return absl::OkStatus();
}

absl::Status CheckBoneTable(const BoneTable& table) {
  ISO_RETURN_IF_ERROR(CheckRange("bone.line_integrals", table.line_integrals, 2, kMostBonePoints));
  ISO_RETURN_IF_ERROR(CheckRange("bone.bones", table.bones, 2, kMostBonePoints));
  ISO_RETURN_IF_ERROR(CheckRange("bone.most_line_integral", table.most_line_integral, 0.1,
                                 2 * kLongestLineIntegral));
  ISO_RETURN_IF_ERROR(CheckRange("bone.most_bone_mm", table.most_bone_mm, 1, 1000));
  ISO_RETURN_IF_ERROR(CheckRange("bone.from_hu", table.from_hu, -200, 1000));
  ISO_RETURN_IF_ERROR(
      CheckRange("bone.full_hu", table.full_hu, table.from_hu + kLeastBoneSpanHu, kMostBoneHu));
  const auto points = static_cast<size_t>(table.line_integrals) * table.bones;
  ISO_RETURN_IF_ERROR(CheckCount("values of the bone table", table.added.size(), points, points));
  const double step = table.most_line_integral / (table.line_integrals - 1);
  for (size_t i = 0; i < points; ++i) {
    const bool no_bone = i < static_cast<size_t>(table.line_integrals);
    const double most = no_bone ? 0 : kLongestLineIntegral;
    ISO_RETURN_IF_ERROR(CheckRange("bone.added", table.added[i], -most, most));
    if (i % table.line_integrals == 0 || table.added[i] - table.added[i - 1] > -step) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("bone.added falls from ", table.added[i - 1], " to ", table.added[i],
                     " between line integrals ", step, " apart; legal are sums that ascend"));
  }
  return absl::OkStatus();
}

absl::Status CheckCalibration(const Calibration& calibration) {
  const Detector& detector = calibration.detector;
  ISO_RETURN_IF_ERROR(CheckRange("detector.columns", detector.columns, 1, 8192));
  ISO_RETURN_IF_ERROR(CheckRange("detector.rows", detector.rows, 1, 8192));
  if (calibration.response.has_value()) {
    ISO_RETURN_IF_ERROR(CheckPixelResponse(*calibration.response, detector));
  }
  ISO_RETURN_IF_ERROR(CheckDefectMap(calibration.defects, detector));
  ISO_RETURN_IF_ERROR(CheckLag(calibration.lag));
  ISO_RETURN_IF_ERROR(CheckSpread(calibration.glare));
  ISO_RETURN_IF_ERROR(CheckAirStrips(calibration.air, detector));
  ISO_RETURN_IF_ERROR(CheckAirSweep(calibration.air_sweep, detector));
  if (calibration.scatter.has_value()) {
    ISO_RETURN_IF_ERROR(CheckScatterKernels(*calibration.scatter));
  }
  if (calibration.scatter_model.has_value()) {
    ISO_RETURN_IF_ERROR(CheckScatterModel(*calibration.scatter_model));
  }
  ISO_RETURN_IF_ERROR(CheckHardness(calibration.water, detector));
  ISO_RETURN_IF_ERROR(CheckWaterPolynomial(calibration.water));
  if (calibration.bone.has_value()) ISO_RETURN_IF_ERROR(CheckBoneTable(*calibration.bone));
  if (calibration.mu_water_per_mm != 0) {
    ISO_RETURN_IF_ERROR(CheckRange("mu_water_per_mm", calibration.mu_water_per_mm, 0.001, 0.1));
  }
  return CheckHounsfieldTable(calibration.hounsfield);
}

}  // namespace isocenter::ops
