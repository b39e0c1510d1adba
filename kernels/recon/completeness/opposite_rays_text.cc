#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/recon/completeness/opposite_rays.h"

namespace isocenter::recon {
namespace {

// A shift, another order, arc or offset is the reason where it takes off most of what differs.
constexpr double kMostLeft = 0.5;
constexpr double kLeastSigmas = 5;

}  // namespace

std::optional<std::string> DriftText(const OppositeRaysResult& result) {
  const auto squared = [](double value) { return value * value; };
  if (!result.not_judged.empty() || !result.tells_order()) return std::nullopt;
  double otherwise =
      std::min({result.difference, result.shifted, result.reversed, result.mirrored});
  if (result.arc_factor != 1) otherwise = std::min(otherwise, result.rescaled);
  if (std::abs(result.drift) <= OppositeRays::kMostDrift ||
      squared(result.undrifted) >= kMostLeft * squared(otherwise)) {
    return std::nullopt;
  }
  return absl::StrFormat(
      "opposite rays agree best where the counts carry something that %s by %.1f %% of the empty "
      "beam from the first frame to the last, behind the object as in air (they differ by %.3f "
      "without it, and by %.3f as it is); legal is up to %g %%: the detector's offset drifts (dark "
      "frames are of another temperature), or stray light or lag builds up. Thick parts are tens "
      "of HU off",
      result.drift > 0 ? "rises" : "falls", 100 * std::abs(result.drift), result.undrifted,
      result.difference, 100 * OppositeRays::kMostDrift);
}

std::optional<std::string> MisfitText(const OppositeRaysResult& result, double most_shift_px) {
  if (!result.not_judged.empty()) return std::nullopt;
  if (auto drift = DriftText(result)) return drift;
  const auto squared = [](double value) { return value * value; };
  const double chance = squared(result.by_chance), as_is = squared(result.difference);
  const bool tells_order = result.tells_order();
  const double other = std::min(squared(result.reversed), squared(result.mirrored));
  const double most = OppositeRays::kMostOfChance * chance;
  const std::string differ = absl::StrFormat(
      "the frames do not fit their matrices: line integrals of %d rays that two frames see from "
      "opposite sides differ by %.3f (rms), and by %.3f where frames are in any order",
      result.rays, result.difference, result.by_chance);
  if (tells_order && as_is > most && other < kMostLeft * std::min(as_is, squared(result.shifted))) {
    const bool in_time = result.reversed <= result.mirrored;
    return absl::StrFormat(
        "%s; by %.3f with %s: the arm turned the other way than the matrices say, or the columns "
        "are mirrored",
        differ, std::sqrt(other),
        in_time ? "the frames in reversed order" : "the columns in reversed order");
  }
  if (tells_order && std::abs(result.arc_factor - 1) > OppositeRays::kMostArcError &&
      squared(result.rescaled) < kMostLeft * std::min(as_is, squared(result.shifted))) {
    return absl::StrFormat(
        "the frames do not fit their matrices: opposite rays agree best where the arc is %.1f %% "
        "%s than the matrices say (they differ by %.3f there, and by %.3f as it is); legal is "
        "within %g %%. Any of these does that: angles or the frame rate are off, views are "
        "missing, the matrices are of another scan, the patient turned",
        100 * std::abs(result.arc_factor - 1), result.arc_factor > 1 ? "longer" : "shorter",
        result.rescaled, result.difference, 100 * OppositeRays::kMostArcError);
  }
  const bool explained = squared(result.shifted) < kMostLeft * as_is;
  if (explained && std::abs(result.shift_px) > most_shift_px &&
      std::abs(result.shift_px) > kLeastSigmas * result.shift_sigma_px) {
    return absl::StrFormat(
        "the frames do not fit their matrices: opposite rays agree best where all frames lie %+.2f "
        "px along the rows (sigma %.2f px) from where the matrices say; legal is within %g px. Any "
        "of these does that: the principal point, the detector or the axis of rotation is "
        "elsewhere, the matrices are of another scan, the patient moved",
        result.shift_px, result.shift_sigma_px, most_shift_px);
  }
  const double beyond_noise = std::min(as_is, squared(result.shifted)) - squared(result.noise);
  // What lies between two frames is known less well than that.
  if (tells_order && !result.between_frames && beyond_noise > most) {
    return absl::StrFormat(
        "%s; legal is at most %.3f. The matrices are not those of the frames (another order, "
        "another scan), the patient moved, or the dose or a correction changes between frames",
        differ, std::sqrt(most));
  }
  return std::nullopt;
}

std::optional<std::string> UncheckedOrderText(const OppositeRaysResult& result) {
  if (!result.not_judged.empty()) {
    return absl::StrCat(
        "not checked: whether the frames are in the order of their matrices, and their columns not "
        "mirrored (a scan may well be right): ",
        result.not_judged);
  }
  const double chance = result.by_chance, noise = result.noise;
  if (result.tells_order()) return std::nullopt;
  return absl::StrFormat(
      "not checked: whether the frames are in the order of their matrices, and their columns not "
      "mirrored (a scan may well be right): the object looks nearly alike from everywhere; frames "
      "in any order differ by %.4f (rms) on %d opposite rays, by noise alone by %.4f, and %.4f or "
      "more is needed",
      chance, result.rays, noise,
      std::sqrt(std::max(OppositeRaysResult::kLeastByChance,
                         OppositeRaysResult::kLeastOverNoise * noise * noise)));
}

}  // namespace isocenter::recon
