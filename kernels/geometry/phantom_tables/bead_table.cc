#include "kernels/geometry/phantom_tables/bead_table.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "kernels/base/nearest.h"
#include "kernels/base/regular_file.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"

namespace isocenter {
namespace {

constexpr double kRadiusMm = 60, kHalfHeightMm = 80;
constexpr double kSmallMm = 1.5, kLargeMm = 2.5;
constexpr uint64_t kMostTableBytes = 64 << 10;
constexpr double kLeastDepthMm = 5;

// x^7 + x^6 + 1 is primitive: period 127.
class SizeCode {
 public:
  double NextDiameterMm() {
    const int bit = state_ & 1;
    state_ = ((state_ << 1) | (((state_ >> 6) ^ (state_ >> 5)) & 1)) & 127;
    return bit ? kLargeMm : kSmallMm;
  }

 private:
  int state_ = 1;
};

Bead OnCylinder(double angle, double z, SizeCode& code) {
  return {{kRadiusMm * std::cos(angle), kRadiusMm * std::sin(angle), z}, code.NextDiameterMm()};
}

absl::Status BadLine(int number, absl::string_view line) {
  return absl::InvalidArgumentError(absl::StrFormat(
      "line %d is '%s'; legal are four numbers, x, y, z and diameter in mm, or a comment after #",
      number, line.substr(0, 80)));
}

absl::Status CheckBead(const Bead& bead, size_t index) {
  const double most =
      std::max({std::abs(bead.center.x), std::abs(bead.center.y), std::abs(bead.center.z)});
  if (!(most <= kMostBeadCoordinateMm)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "ball %d is at (%g, %g, %g) mm; legal are coordinates of -%g to %g", index, bead.center.x,
        bead.center.y, bead.center.z, kMostBeadCoordinateMm, kMostBeadCoordinateMm));
  }
  if (!(bead.diameter_mm >= kLeastBeadDiameterMm && bead.diameter_mm <= kMostBeadDiameterMm)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("ball %d has a diameter of %g mm; legal is "
                        "%g to %g",
                        index, bead.diameter_mm, kLeastBeadDiameterMm, kMostBeadDiameterMm));
  }
  return absl::OkStatus();
}

// "; ..." of a table that is small and wrong in mm, and would be right in another unit.
std::string OtherUnit(const BeadTable& table) {
  constexpr double kSmallestPhantomMm = 25;  // from its middle
  for (const Bead& bead : table) {
    const Vec3 p = bead.center;
    if (std::max({std::abs(p.x), std::abs(p.y), std::abs(p.z)}) > kSmallestPhantomMm) return "";
  }
  for (const auto& [name, mm] : {std::pair{"cm", 10.0}, {"inches", 25.4}}) {
    BeadTable scaled = table, with_diameters = table;
    for (Bead& bead : scaled) bead.center = mm * bead.center;
    for (Bead& bead : with_diameters) bead = {mm * bead.center, mm * bead.diameter_mm};
    if (!CheckBeadTable(scaled).ok() && !CheckBeadTable(with_diameters).ok()) continue;
    return absl::StrFormat("; times %g it would be legal: is the table in %s?", mm, name);
  }
  return "";
}

// How far the balls are from the plane through three of them that are far from each other.
double DepthMm(const BeadTable& table) {
  const auto farthest = [&table](auto distance) {
    return std::max_element(table.begin(), table.end(),
                            [&](const Bead& a, const Bead& b) {
                              return distance(a.center) < distance(b.center);
                            })
        ->center;
  };
  const Vec3 a = table[0].center;
  const Vec3 b = farthest([&](Vec3 p) { return Norm(p - a); });
  const Vec3 along = (1 / Norm(b - a)) * (b - a);
  const Vec3 c = farthest([&](Vec3 p) { return Norm(Cross(along, p - a)); });
  const Vec3 across = Cross(along, c - a);
  if (Norm(across) == 0) return 0;
  const Vec3 normal = (1 / Norm(across)) * across;
  return std::abs(Dot(normal, farthest([&](Vec3 p) { return std::abs(Dot(normal, p - a)); }) - a));
}

}  // namespace

BeadTable HelixBeads() {
  constexpr int kBeads = 108, kToATurn = 18;
  SizeCode code;
  BeadTable table;
  for (int i = 0; i < kBeads; ++i) {
    const double z = kHalfHeightMm * (2.0 * i / (kBeads - 1) - 1);
    table.push_back(OnCylinder(2 * kPi * i / kToATurn, z, code));
  }
  return table;
}

BeadTable RingBeads() {
  constexpr int kRings = 7, kToARing = 12;
  constexpr double kTurnOfNext = 0.37;  // of the angle between neighbours
  SizeCode code;
  BeadTable table;
  for (int ring = 0; ring < kRings; ++ring) {
    const double z = kHalfHeightMm * (2.0 * ring / (kRings - 1) - 1);
    for (int i = 0; i < kToARing; ++i) {
      table.push_back(OnCylinder(2 * kPi * (i + kTurnOfNext * ring) / kToARing, z, code));
    }
  }
  return table;
}

absl::StatusOr<BeadTable> ParseBeadTable(absl::string_view text) {
  BeadTable table;
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const std::vector<absl::string_view> words = absl::StrSplit(
        line.substr(0, line.find('#')), absl::ByAnyChar(" \t\r,"), absl::SkipEmpty());
    if (words.empty()) continue;
    double values[4];
    if (words.size() != 4) return BadLine(number, line);
    for (int i = 0; i < 4; ++i) {
      if (!absl::SimpleAtod(words[i], &values[i]) || !std::isfinite(values[i])) {
        return BadLine(number, line);
      }
    }
    table.push_back({{values[0], values[1], values[2]}, values[3]});
  }
  const absl::Status status = CheckBeadTable(table);
  if (status.ok()) return table;
  return absl::InvalidArgumentError(absl::StrCat(status.message(), OtherUnit(table)));
}

std::string BeadTableText(const BeadTable& table) {
  std::string text = "# x, y, z, diameter in mm\n";
  for (const Bead& bead : table) {
    absl::StrAppendFormat(&text, "%.6f, %.6f, %.6f, %.6f\n", bead.center.x, bead.center.y,
                          bead.center.z, bead.diameter_mm);
  }
  return text;
}

absl::Status CheckBeadTable(const BeadTable& table) {
  const int count = static_cast<int>(table.size());
  if (count < kLeastBeads || count > kMostBeads) {
    return absl::InvalidArgumentError(absl::StrCat("the table has ", count, " balls; legal is ",
                                                   kLeastBeads, " to ", kMostBeads));
  }
  for (int i = 0; i < count; ++i) {
    ISO_RETURN_IF_ERROR(CheckBead(table[i], i));
    for (int j = 0; j < i; ++j) {
      const double distance = Norm(table[i].center - table[j].center);
      const double least = (table[i].diameter_mm + table[j].diameter_mm) / 2;
      if (distance >= least) continue;
      return absl::InvalidArgumentError(
          absl::StrFormat("balls %d and %d are %g mm apart; legal is %g mm or more, where they "
                          "touch",
                          j, i, distance, least));
    }
  }
  const double depth = DepthMm(table);
  if (depth >= kLeastDepthMm) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "all balls are within %g mm of a plane; legal is a ball that is %g mm or more away from it",
      depth, kLeastDepthMm));
}

absl::StatusOr<BeadTable> FindBeadTable(absl::string_view flag, const std::string& name) {
  if (name == "helix") return HelixBeads();
  if (name == "rings") return RingBeads();
  const absl::StatusOr<std::string> text = ReadRegularFile(flag, name, kMostTableBytes);
  if (!text.ok()) {
    return absl::Status(
        text.status().code(),
        absl::StrCat(text.status().message(), "; legal is helix, rings, or a table of the balls",
                     DidYouMean(name, {"helix", "rings"})));
  }
  absl::StatusOr<BeadTable> table = ParseBeadTable(*text);
  if (table.ok()) return table;
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", table.status().message()));
}

}  // namespace isocenter
