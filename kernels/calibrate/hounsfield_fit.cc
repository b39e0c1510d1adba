#include "kernels/calibrate/hounsfield_fit.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "kernels/base/status_macros.h"
#include "kernels/calibrate/text_table.h"

namespace isocenter::calibrate {
namespace {

constexpr size_t kLeastInserts = 2, kMostInserts = 32;

constexpr char kLegalInsert[] = "a name, x, y, z, a radius of 1 to 100 (mm) and the true HU";

absl::StatusOr<MeasuredInsert> Measure(HostView3<const float> volume, const VolumeGrid& grid,
                                       const Insert& insert) {
  const Vec3 at = grid.WorldToVoxel(insert.center);
  const Vec3 reach = {insert.radius_mm / grid.spacing.x, insert.radius_mm / grid.spacing.y,
                      insert.radius_mm / grid.spacing.z};
  if (!(at.x - reach.x >= 0 && at.y - reach.y >= 0 && at.z - reach.z >= 0 &&
        at.x + reach.x <= grid.nx - 1 && at.y + reach.y <= grid.ny - 1 &&
        at.z + reach.z <= grid.nz - 1)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "insert '%s' at (%g, %g, %g) with a radius of %g mm is not within the volume, whose voxels "
        "there are (%.1f, %.1f, %.1f) of %d x %d x %d",
        insert.name, insert.center.x, insert.center.y, insert.center.z, insert.radius_mm, at.x,
        at.y, at.z, grid.nx, grid.ny, grid.nz));
  }
  MeasuredInsert measured{.insert = insert};
  double sum = 0, squares = 0;
  Vec3 places, along, spread;  // sums of the places, times the values, and of their squares
  for (int k = static_cast<int>(at.z - reach.z); k <= at.z + reach.z; ++k) {
    for (int j = static_cast<int>(at.y - reach.y); j <= at.y + reach.y; ++j) {
      for (int i = static_cast<int>(at.x - reach.x); i <= at.x + reach.x; ++i) {
        const Vec3 off = {(i - at.x) / reach.x, (j - at.y) / reach.y, (k - at.z) / reach.z};
        if (Dot(off, off) > 1) continue;
        const double hu = volume(k, j, i);
        sum += hu;
        squares += hu * hu;
        places = places + off;
        along = along + hu * off;
        spread = spread + Vec3{off.x * off.x, off.y * off.y, off.z * off.z};
        ++measured.voxels;
      }
    }
  }
  if (measured.voxels == 0) return measured;
  measured.mean_hu = sum / measured.voxels;
  const double variance = squares / measured.voxels - measured.mean_hu * measured.mean_hu;
  double slant = 0;
  for (const auto& [value, place, square] : {std::tuple(along.x, places.x, spread.x),
                                             {along.y, places.y, spread.y},
                                             {along.z, places.z, spread.z}}) {
    const double with = value - measured.mean_hu * place;
    if (square > 0) slant += with * with / square;
  }
  measured.slant_hu = std::sqrt(slant / measured.voxels);
  measured.sigma_hu = std::sqrt(std::max(variance, 0.0));  // in this order it keeps not-a-number
  return measured;
}

/// `least_sigma_hu`: of all inserts.
absl::Status Judge(const MeasuredInsert& measured, double least_sigma_hu) {
  const std::string name = absl::StrCat("of insert '", measured.insert.name, "'");
  if (measured.voxels < kLeastInsertVoxels) {
    return NotGoodEnough(
        {absl::StrCat("the number of voxels ", name), static_cast<double>(measured.voxels), ""},
        absl::StrCat(kLeastInsertVoxels, " at least"), "smaller voxels");
  }
  // Written so that not-a-number, which a volume may hold, does not pass.
  if (measured.sigma_hu <= kMostInsertSigmaHu) return absl::OkStatus();
  return NotGoodEnough({absl::StrCat("the standard deviation ", name), measured.sigma_hu, "HU"},
                       absl::StrFormat("at most %g HU", kMostInsertSigmaHu),
                       measured.sigma_hu <= kSameNoise * least_sigma_hu
                           ? "all inserts have such noise: reconstruct with a smoother filter "
                             "(--filter hann), with larger voxels, or scan with more dose"
                           : "is the insert where the table says, and its border outside of the "
                             "ball?");
}

/// Inserts are by their true HU, which ascend, as the measured ones do.
std::vector<std::string> InsertsOffTheirNeighbours(const std::vector<MeasuredInsert>& inserts) {
  std::vector<std::string> warnings;
  const auto slope = [](const MeasuredInsert& a, const MeasuredInsert& b) {
    return (b.insert.true_hu - a.insert.true_hu) / (b.mean_hu - a.mean_hu);
  };
  for (size_t i = 1; i + 1 < inserts.size(); ++i) {
    const MeasuredInsert &below = inserts[i - 1], &here = inserts[i], &above = inserts[i + 1];
    const double expected =
        below.insert.true_hu + slope(below, above) * (here.mean_hu - below.mean_hu);
    const double off = here.insert.true_hu - expected;
    const double before = slope(below, here), after = slope(here, above);
    if (std::abs(off) <= kMostOffNeighboursHu ||
        std::max(before, after) <= kMostBend * std::min(before, after)) {
      continue;
    }
    warnings.push_back(absl::StrFormat(
        "insert '%s' reads %.1f HU, for which the line through its neighbours '%s' and '%s' has "
        "%.1f; the table of inserts says %g, which is %.1f off (expected is at most %g): is one of "
        "the three true HU not right?",
        here.insert.name, here.mean_hu, below.insert.name, above.insert.name, expected,
        here.insert.true_hu, off, kMostOffNeighboursHu));
  }
  return warnings;
}

/// Two true HU that are exchanged, or a table of another phantom: slopes that no reconstruction
/// has.
std::vector<std::string> SlopesOff(const std::vector<MeasuredInsert>& inserts) {
  std::vector<std::string> warnings;
  for (size_t i = 1; i < inserts.size(); ++i) {
    const MeasuredInsert &below = inserts[i - 1], &above = inserts[i];
    const double apart = above.insert.true_hu - below.insert.true_hu;
    const double slope = apart / (above.mean_hu - below.mean_hu);
    if (apart < kFarApartHu || (slope <= kMostSlope && slope >= 1 / kMostSlope)) continue;
    warnings.push_back(absl::StrFormat(
        "from insert '%s' (reads %.1f, true %g) to '%s' (reads %.1f, true %g) the table rises by "
        "%.2f HU for each HU that is read; expected is %g to %g: are the inserts' places and true "
        "HU right, and of this phantom?",
        below.insert.name, below.mean_hu, below.insert.true_hu, above.insert.name, above.mean_hu,
        above.insert.true_hu, slope, 1 / kMostSlope, kMostSlope));
  }
  return warnings;
}

/// Balls that a border crosses.
std::vector<std::string> InsertsAtABorder(const std::vector<MeasuredInsert>& inserts) {
  std::vector<std::string> warnings;
  for (const MeasuredInsert& each : inserts) {
    const double variance = each.sigma_hu * each.sigma_hu;
    if (each.slant_hu <= kMostSlantHu ||
        each.slant_hu * each.slant_hu <= kMostSlantShare * variance) {
      continue;
    }
    warnings.push_back(absl::StrFormat(
        "insert '%s' has a standard deviation of %.1f HU, of which %.1f is a slope from one side "
        "of the ball to the other, and no noise: is the insert where the table says, and its "
        "border outside of the ball?",
        each.insert.name, each.sigma_hu, each.slant_hu));
  }
  return warnings;
}

/// The line through two inserts, which a table continues beyond them.
double Continued(const MeasuredInsert& a, const MeasuredInsert& b, double measured_hu) {
  return a.insert.true_hu + (b.insert.true_hu - a.insert.true_hu) / (b.mean_hu - a.mean_hu) *
                                (measured_hu - a.mean_hu);
}

/// Inserts are by their true HU, which ascend. What lies beyond them is a guess.
absl::StatusOr<std::vector<std::string>> BeyondInserts(const std::vector<MeasuredInsert>& inserts) {
  constexpr double kAir = -1000, kBone = 1000;
  const MeasuredInsert &first = inserts.front(), &last = inserts.back();
  const bool has_air = first.insert.true_hu <= kAirHu, has_bone = last.insert.true_hu >= kBoneHu;
  const double air = Continued(first, inserts[1], kAir);
  const double bone = Continued(inserts[inserts.size() - 2], last, kBone);
  if (!has_air && std::abs(air - kAir) > kMostAirMovedHu) {
    return NotGoodEnough(
        {"what the table makes of -1000 HU, which air has before any table,", air, "HU"},
        absl::StrFormat("within %g HU of -1000", kMostAirMovedHu),
        "an insert of air, and the others where they are in the volume");
  }
  if (has_air && has_bone && inserts.size() >= kEnoughInserts) {
    return std::vector<std::string>{};
  }
  return std::vector<std::string>{absl::StrFormat(
      "%d inserts from %g to %g HU make the table for all HU: beyond them it goes on as a line, "
      "which makes %.0f of -1000 HU and %.0f of 1000; expected are %d inserts or more, one of air "
      "and one of bone's density (%g HU or more)",
      inserts.size(), first.insert.true_hu, last.insert.true_hu, air, bone, kEnoughInserts,
      kBoneHu)};
}

/// Corrections that are noise, which the table puts on all voxels of such HU.
std::vector<std::string> CorrectionsOfNoise(const std::vector<MeasuredInsert>& inserts) {
  std::vector<std::string> warnings;
  for (const MeasuredInsert& each : inserts) {
    const double apart = each.mean_hu - each.insert.true_hu, error = each.standard_error_hu();
    if (std::abs(each.insert.true_hu) > kNearWaterHu || error < kLeastNoiseHu ||
        std::abs(apart) > kNoiseSigmas * error) {
      continue;
    }
    warnings.push_back(absl::StrFormat(
        "insert '%s' reads %.1f HU, true is %g: the difference is within %g standard errors of the "
        "mean (%.2f HU, of %d voxels), and the table puts this noise on all voxels of such HU; a "
        "larger ball, more dose or a smoother filter lessen it",
        each.insert.name, each.mean_hu, each.insert.true_hu, kNoiseSigmas, error, each.voxels));
  }
  return warnings;
}

/// `inserts`: by their true HU.
absl::StatusOr<std::vector<MeasuredInsert>> OnePerTrueHu(
    const std::vector<MeasuredInsert>& inserts) {
  std::vector<MeasuredInsert> merged;
  for (const MeasuredInsert& each : inserts) {
    if (merged.empty() || merged.back().insert.true_hu != each.insert.true_hu) {
      merged.push_back(each);
      continue;
    }
    MeasuredInsert& one = merged.back();
    if (std::abs(each.mean_hu - one.mean_hu) > kMostOneMaterialApartHu) {
      return absl::FailedPreconditionError(absl::StrFormat(
          "inserts '%s' and '%s' have one true HU, %g, and read %.1f and %.1f; legal are %g HU "
          "between them: are both where the table says, and of that material?",
          one.insert.name, each.insert.name, each.insert.true_hu, one.mean_hu, each.mean_hu,
          kMostOneMaterialApartHu));
    }
    const int voxels = one.voxels + each.voxels;
    one.mean_hu = (one.voxels * one.mean_hu + each.voxels * each.mean_hu) / voxels;
    one.sigma_hu = std::max(one.sigma_hu, each.sigma_hu);
    one.slant_hu = std::max(one.slant_hu, each.slant_hu);
    one.voxels = voxels;
    absl::StrAppend(&one.insert.name, "+", each.insert.name);
  }
  return merged;
}

}  // namespace

std::vector<std::string> WaterOff(const std::vector<MeasuredInsert>& inserts) {
  const MeasuredInsert* worst = nullptr;
  const auto off = [](const MeasuredInsert& each) {
    return std::abs(each.mean_hu - each.insert.true_hu);
  };
  for (const MeasuredInsert& each : inserts) {
    if (std::abs(each.insert.true_hu) > kNearWaterHu || off(each) <= kMostWaterOffHu) continue;
    if (worst == nullptr || off(each) > off(*worst)) worst = &each;
  }
  if (worst == nullptr) return {};
  return {absl::StrFormat(
      "insert '%s' reads %.1f HU, true is %g: a volume that was made with the set's water "
      "polynomial "
      "has inserts near water within %g HU where scatter is corrected or little. Was --volume made "
      "with this set, of its tube voltage?",
      worst->insert.name, worst->mean_hu, worst->insert.true_hu, kMostWaterOffHu)};
}

absl::StatusOr<std::vector<Insert>> ParseInserts(absl::string_view text) {
  constexpr size_t kNumbers = 5;
  ISO_ASSIGN_OR_RETURN(const std::vector<TextRow> rows,
                       ParseTextTable(text, kNumbers, kLegalInsert));
  std::vector<Insert> inserts;
  for (const TextRow& row : rows) {
    const std::vector<double>& n = row.numbers;
    inserts.push_back({row.name, {n[0], n[1], n[2]}, n[3], n[4]});
    if (!(n[3] >= 1 && n[3] <= 100)) return BadRow(row, kLegalInsert);
  }
  if (inserts.size() >= kLeastInserts && inserts.size() <= kMostInserts) return inserts;
  return absl::InvalidArgumentError(
      absl::StrCat("the table has ", inserts.size() > kMostInserts ? "more than " : "",
                   std::min(inserts.size(), kMostInserts), " inserts; legal is ", kLeastInserts,
                   " to ", kMostInserts));
}

absl::StatusOr<HounsfieldFit> FitHounsfield(HostView3<const float> volume, const VolumeGrid& grid,
                                            std::vector<Insert> inserts) {
  std::sort(inserts.begin(), inserts.end(),
            [](const Insert& a, const Insert& b) { return a.true_hu < b.true_hu; });
  HounsfieldFit fit;
  Figure error{"largest error before the table", 0, "HU"};
  Figure noise{"largest standard error of an insert", 0, "HU"};
  for (const Insert& insert : inserts) {
    ISO_ASSIGN_OR_RETURN(fit.inserts.emplace_back(), Measure(volume, grid, insert));
  }
  const double least_sigma =
      std::ranges::min_element(fit.inserts, {}, &MeasuredInsert::sigma_hu)->sigma_hu;
  for (const MeasuredInsert& measured : fit.inserts) {
    ISO_RETURN_IF_ERROR(Judge(measured, least_sigma));
  }
  ISO_ASSIGN_OR_RETURN(fit.inserts, OnePerTrueHu(fit.inserts));
  for (const MeasuredInsert& measured : fit.inserts) {
    const double apart = measured.mean_hu - measured.insert.true_hu;
    if (std::abs(apart) > std::abs(error.value)) error.value = apart;
    noise.value = std::max(noise.value, measured.standard_error_hu());
    fit.table.points.push_back({measured.mean_hu, measured.insert.true_hu});
  }
  if (const absl::Status legal = ops::CheckHounsfieldTable(fit.table); !legal.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(legal.message(), "; the inserts are, by their true HU, ",
                     absl::StrJoin(fit.inserts, ", ", [](std::string* out, const auto& each) {
                       absl::StrAppendFormat(out, "'%s' (reads %.1f, true %g)", each.insert.name,
                                             each.mean_hu, each.insert.true_hu);
                     })));
  }
  fit.warnings = InsertsOffTheirNeighbours(fit.inserts);
  // One wrong insert bends both.
  if (fit.warnings.empty()) fit.warnings = SlopesOff(fit.inserts);
  for (std::string& warning : InsertsAtABorder(fit.inserts)) {
    fit.warnings.push_back(std::move(warning));
  }
  ISO_ASSIGN_OR_RETURN(const std::vector<std::string> beyond, BeyondInserts(fit.inserts));
  fit.warnings.insert(fit.warnings.end(), beyond.begin(), beyond.end());
  if (std::abs(error.value) < std::max(kTooRightHu, kTooRightSigmas * noise.value)) {
    fit.warnings.push_back(absl::StrFormat(
        "all inserts read within %.2f HU of the truth: was the volume made with a table already? "
        "This one is then of what that leaves, and is not to be used in its place",
        std::abs(error.value)));
  } else {
    for (std::string& warning : CorrectionsOfNoise(fit.inserts)) {
      fit.warnings.push_back(std::move(warning));
    }
  }
  fit.figures = {{"inserts", static_cast<double>(fit.inserts.size()), ""}, error, noise};
  return fit;
}

}  // namespace isocenter::calibrate
