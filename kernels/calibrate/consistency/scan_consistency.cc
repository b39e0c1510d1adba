#include "kernels/calibrate/consistency/scan_consistency.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/calibrate/consistency/epipolar_pairs.h"
#include "kernels/calibrate/robust.h"

namespace isocenter::calibrate {
namespace {

constexpr int kLeastFrames = 20, kLeastSide = 32;
constexpr int kPlanes = 96;
constexpr int kNeighbours = 4;   // on each side of a frame
constexpr int kSmoothParts = 8;  // of a scan, whose medians are its smooth shifts

struct PairResult {
  std::vector<PlaneDifference> differences;
  int64_t truncated = 0;
  int64_t ends_off_air = 0;
};

PairResult Compare(const LineView& a, const LineView& b, std::pair<int, int> pair,
                   double radius_mm) {
  PairResult result;
  for (const Vec3 normal : EpipolarPlanes(a.source(), b.source(), radius_mm, kPlanes)) {
    const LineSample x = a.Sample(normal);
    if (x.state == LineState::kOutside) continue;
    const LineSample y = b.Sample(normal);
    if (y.state == LineState::kOutside) continue;
    result.ends_off_air += x.ends_off_air + y.ends_off_air;
    if (x.state == LineState::kTruncated || y.state == LineState::kTruncated) {
      ++result.truncated;
      continue;
    }
    result.differences.push_back({pair.first, pair.second,
                                  static_cast<float>(x.derivative - y.derivative),
                                  static_cast<float>(x.by_u), static_cast<float>(x.by_v),
                                  static_cast<float>(y.by_u), static_cast<float>(y.by_v)});
  }
  return result;
}

using Component = double FrameShift::*;

bool Known(double sigma) { return sigma <= kMostShiftSigmaPx; }

// Of each frame against the median of its neighbours; 0 where that is not known.
std::vector<double> Jumps(const std::vector<FrameShift>& shifts, Component value, Component sigma) {
  const int frames = static_cast<int>(shifts.size());
  std::vector<double> jumps(shifts.size(), 0);
  for (int k = 0; k < frames; ++k) {
    if (!Known(shifts[k].*sigma)) continue;
    std::vector<double> near;
    for (int j = std::max(0, k - kNeighbours); j <= std::min(frames - 1, k + kNeighbours); ++j) {
      if (j != k && Known(shifts[j].*sigma)) near.push_back(shifts[j].*value);
    }
    if (near.size() >= kNeighbours) jumps[k] = shifts[k].*value - Median(std::move(near));
  }
  return jumps;
}

double SigmaOf(const std::vector<double>& jumps) {
  std::vector<double> known;
  for (const double jump : jumps) {
    if (jump != 0) known.push_back(jump);
  }
  return known.size() < kLeastFrames ? 0 : RobustSigma(std::move(known));
}

double StandsOut(double jump, double sigma) {
  return sigma > 0 && std::abs(jump) >= std::max(kLeastJumpPx, kLeastJumpSigmas * sigma) ? jump : 0;
}

void FindOddFrames(Consistency& result) {
  const std::vector<double> u = Jumps(result.shifts, &FrameShift::u_px, &FrameShift::u_sigma_px);
  const std::vector<double> v = Jumps(result.shifts, &FrameShift::v_px, &FrameShift::v_sigma_px);
  const double u_sigma = SigmaOf(u);
  result.jump_sigma_px = SigmaOf(v);
  for (size_t k = 0; k < v.size(); ++k) {
    const OddFrame odd{static_cast<int>(k), StandsOut(u[k], u_sigma),
                       StandsOut(v[k], result.jump_sigma_px)};
    if (odd.u_px != 0 || odd.v_px != 0) result.odd.push_back(odd);
  }
}

// Largest less least of the medians of parts of the scan.
double SmoothRange(const std::vector<FrameShift>& shifts) {
  double low = INFINITY, high = -INFINITY;
  for (int part = 0; part < kSmoothParts; ++part) {
    std::vector<double> values;
    for (size_t k = part * shifts.size() / kSmoothParts;
         k < (part + 1) * shifts.size() / kSmoothParts; ++k) {
      if (Known(shifts[k].v_sigma_px)) values.push_back(shifts[k].v_px);
    }
    if (values.empty()) continue;
    const double middle = Median(std::move(values));
    low = std::min(low, middle);
    high = std::max(high, middle);
  }
  return std::max(0.0, high - low);
}

std::string WhyNot(const Consistency& result) {
  const auto all = static_cast<double>(result.lines + result.truncated);
  if (all == 0) return "no line of the sources' planes is on two frames' detectors";
  if (result.off_air) {
    return absl::StrFormat(
        "%.0f %% of the lines' ends read neither air nor the object (line integrals of %g to %g, "
        "or below %g); legal is at most %.0f %%: the frames' air is not where it should be, which "
        "offsets, gains, the heel and doses do",
        100 * result.off_air_share, kMostAir, kObject, -kMostAir, 100 * kMostOffAirShare);
  }
  if (static_cast<double>(result.lines) < kLeastGoodShare * all) {
    return absl::StrFormat(
        "%.0f %% of the lines leave the detector through the object; legal is at most %.0f %%",
        100 * static_cast<double>(result.truncated) / all, 100 * (1 - kLeastGoodShare));
  }
  std::vector<double> sigmas;
  for (const FrameShift& shift : result.shifts) sigmas.push_back(shift.v_sigma_px);
  const double sigma = Median(std::move(sigmas));
  if (Known(sigma)) return "";
  return absl::StrFormat(
      "the object has too little structure along the axis: shifts are known to %.2g px, legal is "
      "%.2g px",
      sigma, kMostShiftSigmaPx);
}

}  // namespace

ScanConsistency::ScanConsistency(const Trajectory& trajectory, const Detector& detector,
                                 double i0_counts)
    : trajectory_(trajectory),
      detector_(detector),
      i0_counts_(i0_counts),
      binning_(ConsistencyBinning(detector)),
      views_(trajectory.size()) {}

absl::StatusOr<std::unique_ptr<ScanConsistency>> ScanConsistency::Make(const Trajectory& trajectory,
                                                                       const Detector& detector,
                                                                       double i0_counts) {
  if (!(i0_counts >= 1 && i0_counts <= 65535)) {
    return absl::InvalidArgumentError(
        absl::StrCat("i0_counts is ", i0_counts, "; legal is 1 to 65535"));
  }
  if (trajectory.size() < kLeastFrames || trajectory.size() > kMaxViews) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the scan has ", trajectory.size(), " frames; legal is ", kLeastFrames, " to ", kMaxViews));
  }
  if (detector.columns < kLeastSide || detector.rows < kLeastSide) {
    return absl::InvalidArgumentError(absl::StrCat("the detector has ", detector.columns, " x ",
                                                   detector.rows, " pixels; legal is ", kLeastSide,
                                                   " x ", kLeastSide, " or more"));
  }
  for (const ProjectionMatrix& matrix : trajectory) ISO_RETURN_IF_ERROR(Decompose(matrix).status());
  return std::unique_ptr<ScanConsistency>(new ScanConsistency(trajectory, detector, i0_counts));
}

void ScanConsistency::Add(int frame, std::span<const uint16_t> counts) {
  views_[frame].emplace(counts, detector_, i0_counts_, binning_, trajectory_[frame]);
}

void ScanConsistency::AddLines(int frame, std::span<const float> line_integrals) {
  views_[frame].emplace(line_integrals, detector_, binning_, trajectory_[frame]);
}

absl::StatusOr<Consistency> ScanConsistency::Judge(ThreadPool& pool,
                                                   std::span<const double> curves) const {
  std::vector<Vec3> sources;
  for (size_t k = 0; k < views_.size(); ++k) {
    if (!views_[k]) {
      return absl::FailedPreconditionError(absl::StrCat("frame ", k, " was not added"));
    }
    sources.push_back(views_[k]->source());
  }
  const std::vector<std::pair<int, int>> pairs = EpipolarPairs(sources);
  std::vector<PairResult> found(pairs.size());
  const double radius_mm = EpipolarRadiusMm(trajectory_, detector_);
  pool.ParallelFor(static_cast<int64_t>(pairs.size()), [&](int64_t i, int) {
    found[i] = Compare(*views_[pairs[i].first], *views_[pairs[i].second], pairs[i], radius_mm);
  });
  Consistency result;
  result.pairs = static_cast<int>(pairs.size());
  std::vector<PlaneDifference> all;
  int64_t ends_off_air = 0;
  for (const PairResult& pair : found) {
    ends_off_air += pair.ends_off_air;
    all.insert(all.end(), pair.differences.begin(), pair.differences.end());
    result.truncated += pair.truncated;
  }
  result.lines = static_cast<int64_t>(all.size());
  const auto ends = 4.0 * static_cast<double>(result.lines + result.truncated);  // of two lines
  result.off_air_share = static_cast<double>(ends_off_air) / std::max(1.0, ends);
  result.off_air = result.off_air_share > kMostOffAirShare;
  const int frames = static_cast<int>(views_.size());
  ShiftFit fit = curves.empty() ? FitShifts(all, frames) : FitShifts(all, frames, curves);
  result.shifts = std::move(fit.shifts);
  result.before = fit.before;
  result.after = fit.after;
  result.not_judged = WhyNot(result);
  if (!result.not_judged.empty()) return result;
  if (curves.empty()) FindOddFrames(result);
  const Camera camera = *Decompose(trajectory_[trajectory_.size() / 2]);
  result.drift_v_mm =
      SmoothRange(result.shifts) * camera.isocenter_depth_mm / std::abs(camera.focal_v_px);
  return result;
}

}  // namespace isocenter::calibrate
