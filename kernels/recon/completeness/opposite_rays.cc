#include "kernels/recon/completeness/opposite_rays.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

#include "absl/strings/str_format.h"
#include "kernels/base/median.h"
#include "kernels/base/units.h"
#include "kernels/geometry/angle_between.h"
#include "kernels/geometry/orbit_axis.h"
#include "kernels/geometry/rigid_motion.h"
#include "kernels/geometry/source_position.h"
#include "kernels/recon/completeness/row_lines.h"

namespace isocenter::recon {
namespace {

constexpr int kBins = 320;
constexpr int kPartners = 256;   // of each view, at most
constexpr double kOffRowPx = 2;  // of a source's place from the line that was read, at most
constexpr int kRowsAround = 1;   // read on either side of that line
constexpr int kLeastRays = 200;  // in all, and
constexpr int kLeastOfView = 6;  // of a view that has a say
// Where few rays go from source to source, places between two frames count as sources, too: so many
// for each step, of which neighbours say nearly the same.
constexpr int kPlacesBetween = 4;
constexpr double kMostStep = DegreesToRadians(8);  // of the two frames
constexpr int kOffsetSweeps = 4;
constexpr int kShiftSteps = 8;
// Random orders of which chance is the mean: of few rays so many, of many as many as have these
// rays together, since a volume waits for the answer.
constexpr size_t kRaysByChance = 16000;
// Arcs that are tried, where frames differ by more than noise or this share of chance: by steps of
// half a degree of 200 at each end.
constexpr double kArcStep = 0.005, kLittleOfChance = 0.01;
constexpr int kArcSteps = 12;
// Drifts that are tried, shares of the empty beam, and how little light is left at least.
constexpr double kDriftStep = 0.002, kLeastLight = 0.1;
constexpr int kDriftSteps = 25;
constexpr size_t kOrdersOfArc = 2;
// Line integrals by which a column differs from its neighbours in the middle of all views; gains
// that are not corrected are less, averaged over the rows that are read.
constexpr float kMostBend = 0.1F;
constexpr size_t kMostBends = 64;  // views that are looked at for it, from all over the scan

std::vector<Vec3> SourcesOf(const Trajectory& trajectory) {
  std::vector<Vec3> sources;
  sources.reserve(trajectory.size());
  for (const ProjectionMatrix& matrix : trajectory) sources.push_back(SourceOf(matrix));
  return sources;
}

/// Where a view sees another's source: in front of its own and on the detector.
std::optional<std::pair<double, double>> PlaceOf(const ProjectionMatrix& matrix, Vec3 source,
                                                 const Detector& detector) {
  const Projected at = matrix.Project(source);
  if (!(at.w > 0)) return std::nullopt;
  const double u = at.u(), v = at.v();
  const bool on = u >= 0 && u <= detector.columns - 1 && v >= 0 && v <= detector.rows - 1;
  if (!on) return std::nullopt;
  return std::pair(u, v);
}

/// Angles of the sources about their axis, from the first on and without jumps.
struct SourceTurns {
  Vec3 axis;
  std::vector<double> angles;
};

std::optional<SourceTurns> TurnsOf(const Trajectory& trajectory) {
  const absl::StatusOr<Vec3> axis = OrbitAxis(trajectory);
  if (!axis.ok()) return std::nullopt;
  SourceTurns turns{.axis = *axis};
  Vec3 before;
  for (const Vec3& source : SourcesOf(trajectory)) {
    const Vec3 in_plane = source - Dot(source, *axis) * *axis;
    const double step = turns.angles.empty() ? 0
                                             : std::atan2(Dot(Cross(before, in_plane), *axis),
                                                          Dot(before, in_plane));
    turns.angles.push_back(turns.angles.empty() ? 0 : turns.angles.back() + step);
    before = in_plane;
  }
  return turns;
}

/// Every matrix turned about the axis so that the arc is `factor` times as long, and has its middle
/// where it was.
Trajectory Rescaled(const Trajectory& trajectory, const SourceTurns& turns, double factor) {
  const double middle = 0.5 * (turns.angles.front() + turns.angles.back());
  Trajectory rescaled;
  for (size_t view = 0; view < trajectory.size(); ++view) {
    const double turn = (factor - 1) * (turns.angles[view] - middle);
    rescaled.push_back(Times(trajectory[view], TransformOf({.turn_rad = -turn * turns.axis})));
  }
  return rescaled;
}

/// Least squares of v = start + slope * u.
class Line {
 public:
  void Add(double u, double v) {
    ++n_;
    u_ += u;
    v_ += v;
    uu_ += u * u;
    uv_ += u * v;
  }
  int n() const { return n_; }
  double slope() const {
    const double spread = n_ * uu_ - u_ * u_;
    return spread > 1e-6 * n_ * uu_ ? (n_ * uv_ - u_ * v_) / spread : 0;
  }
  double start() const { return (v_ - slope() * u_) / n_; }

 private:
  int n_ = 0;
  double u_ = 0, v_ = 0, uu_ = 0, uv_ = 0;
};

}  // namespace

OppositeRays::OppositeRays(const Acquisition& acquisition)
    : acquisition_(acquisition),
      bin_(std::max(1, (acquisition.detector.columns + kBins - 1) / kBins)),
      bins_(acquisition.detector.columns / bin_),
      stride_((static_cast<int>(acquisition.trajectory.size()) + kPartners - 1) / kPartners),
      profiles_(acquisition.trajectory.size()) {
  const std::vector<Vec3> sources = SourcesOf(acquisition.trajectory);
  const int last_row = acquisition.detector.rows - 1,
            last_column = acquisition.detector.columns - 1;
  for (size_t view = 0; view < profiles_.size(); ++view) {
    Line line;
    for (size_t other = 0; other < sources.size(); other += stride_) {
      if (other == view) continue;
      const auto place =
          PlaceOf(acquisition.trajectory[view], sources[other], acquisition.detector);
      if (place) line.Add(place->first, place->second);
    }
    if (line.n() == 0) continue;
    Profile& profile = profiles_[view];
    profile.start = line.start();
    profile.slope = line.slope();
    const double ends[] = {profile.start, profile.start + profile.slope * last_column};
    const int low = static_cast<int>(std::lround(std::min(ends[0], ends[1]))) - kRowsAround;
    const int high = static_cast<int>(std::lround(std::max(ends[0], ends[1]))) + kRowsAround;
    profile.first_row = std::clamp(low, 0, last_row);
    profile.rows = std::clamp(high, 0, last_row) - profile.first_row + 1;
  }
}

float OppositeRays::BinLine(std::span<const FrameRow> rows, int bin, const Profile& profile) const {
  const double middle = bin * bin_ + (bin_ - 1) / 2.0;
  const int at = static_cast<int>(std::lround(profile.start + profile.slope * middle));
  RowSum sum;
  for (const FrameRow& row : rows) {
    if (std::abs(row.v - at) > kRowsAround) continue;
    const RowSum piece = SumOf(acquisition_, row, bin * bin_, bin_);
    sum.sum += piece.sum;
    sum.air += piece.air;
    sum.used += piece.used;
  }
  return static_cast<float>(LineOf(acquisition_, sum, 0));
}

void OppositeRays::Add(int view, std::span<const FrameRow> rows) {
  Profile& profile = profiles_[view];
  if (profile.rows == 0) return;
  std::vector<FrameRow> wanted;
  for (const FrameRow& row : rows) {
    if (row.v >= profile.first_row && row.v < profile.first_row + profile.rows) {
      wanted.push_back(row);
    }
  }
  if (wanted.empty()) return;
  profile.lines.resize(bins_);
  for (int bin = 0; bin < bins_; ++bin) {
    profile.lines[bin] = BinLine(wanted, bin, profile);
  }
}

std::optional<std::pair<double, double>> OppositeRays::OnLine(int view,
                                                              const ProjectionMatrix& matrix,
                                                              Vec3 source) const {
  const auto place = PlaceOf(matrix, source, acquisition_.detector);
  if (!place) return std::nullopt;
  const Profile& profile = profiles_[view];
  if (std::abs(place->second - profile.start - profile.slope * place->first) > kOffRowPx) {
    return std::nullopt;
  }
  return place;
}

std::vector<OppositeRays::Pair> OppositeRays::PairsOf(const Trajectory& trajectory) const {
  const std::vector<Vec3> sources = SourcesOf(trajectory);
  const int views = static_cast<int>(profiles_.size());
  std::vector<Pair> pairs;
  for (int first = 0; first < views; ++first) {
    if (profiles_[first].lines.empty()) continue;
    for (int second = 0; second < views; second += stride_) {
      const bool twice = second <= first && first % stride_ == 0;
      if (twice || second == first || profiles_[second].lines.empty()) continue;
      const auto there = OnLine(first, trajectory[first], sources[second]);
      if (!there) continue;
      const auto back = OnLine(second, trajectory[second], sources[first]);
      if (!back) continue;
      pairs.push_back({first, second, there->first, back->first});
    }
  }
  return pairs;
}

std::vector<OppositeRays::Pair> OppositeRays::PairsBetween(const Trajectory& trajectory) const {
  const std::vector<Vec3> sources = SourcesOf(trajectory);
  const int views = static_cast<int>(profiles_.size());
  std::vector<Pair> pairs;
  for (int second = 0; second + 1 < views; ++second) {
    const int next = second + 1;
    if (profiles_[second].lines.empty() || profiles_[next].lines.empty()) continue;
    const double step = AngleBetween(sources[second], sources[next]);
    if (step > kMostStep) continue;
    for (int first = 0; first < views; first += stride_) {
      if (first == second || first == next || profiles_[first].lines.empty()) continue;
      const auto back = OnLine(second, trajectory[second], sources[first]);
      const auto back_next = OnLine(next, trajectory[next], sources[first]);
      if (!back || !back_next) continue;
      for (int place = 0; place < kPlacesBetween; ++place) {
        const double f = (place + 0.5) / kPlacesBetween;
        const Vec3 between = (1 - f) * sources[second] + f * sources[next];
        const auto there = OnLine(first, trajectory[first], between);
        if (!there) continue;
        pairs.push_back(
            {first, second, there->first, (1 - f) * back->first + f * back_next->first, f});
      }
    }
  }
  return pairs;
}

std::optional<std::pair<double, double>> OppositeRays::At(const Profile& profile, double u,
                                                          const std::vector<bool>& left_out) const {
  const double at = (u - (bin_ - 1) / 2.0) / bin_;
  const int bin = static_cast<int>(std::floor(at));
  if (profile.lines.empty() || bin < 0 || bin + 1 >= bins_) return std::nullopt;
  if (left_out[bin] || left_out[bin + 1]) return std::nullopt;
  const double f = at - bin, low = profile.lines[bin], high = profile.lines[bin + 1];
  return std::pair(low + f * (high - low), (high - low) / bin_);
}

OppositeRays::Fit OppositeRays::FitOf(const std::vector<Pair>& pairs,
                                      const Reading& reading) const {
  struct Ray {
    Pair pair;
    double difference, by_shift;
  };
  const auto read = [&](int view, double u) {
    const double last = acquisition_.detector.columns - 1;
    auto at = At(profiles_[reading.frames[view]],
                 (reading.mirrored ? last - u : u) + reading.shift_px, reading.left_out);
    if (at && reading.drift != 0) {
      const double share = view / static_cast<double>(profiles_.size() - 1);
      const double light = std::exp(-at->first), rest = light - reading.drift * (share - 0.5);
      at->first = -std::log(std::max(rest, kLeastLight * light));
    }
    return at;
  };
  std::vector<Ray> rays;
  rays.reserve(pairs.size());
  std::vector<double> of_view(profiles_.size(), 0);
  bool between = false;
  for (const Pair& pair : pairs) {
    const double f = pair.towards_next;
    const auto a = read(pair.first, pair.first_u);
    auto b = read(pair.second, pair.second_u);
    if (!a || !b) continue;
    if (f > 0) {
      const auto next = read(pair.second + 1, pair.second_u);
      if (!next) continue;
      b = std::pair((1 - f) * b->first + f * next->first, (1 - f) * b->second + f * next->second);
      of_view[pair.second + 1] += f;
      between = true;
    }
    rays.push_back({pair, a->first - b->first, a->second - b->second});
    of_view[pair.first] += 1;
    of_view[pair.second] += 1 - f;
  }
  // What frames differ by as a whole (doses) is no misfit.
  std::vector<double> offset(profiles_.size(), 0), left(profiles_.size());
  const auto rest = [&offset](const Ray& ray) {
    const auto& [first, second, first_u, second_u, f] = ray.pair;
    const double far = f > 0 ? (1 - f) * offset[second] + f * offset[second + 1] : offset[second];
    return ray.difference - offset[first] + far;
  };
  for (int sweep = 0; sweep < kOffsetSweeps; ++sweep) {
    std::ranges::fill(left, 0);
    for (const Ray& ray : rays) {
      const double r = rest(ray), f = ray.pair.towards_next;
      left[ray.pair.first] += r;
      left[ray.pair.second] -= (1 - f) * r;
      if (f > 0) left[ray.pair.second + 1] -= f * r;
    }
    for (size_t view = 0; view < left.size(); ++view) {
      // Half: both ends of a difference move.
      if (of_view[view] > 0) offset[view] += 0.5 * left[view] / of_view[view];
    }
  }
  Fit fit;
  double along = 0, slopes = 0;
  for (const Ray& ray : rays) {
    if (of_view[ray.pair.first] < kLeastOfView || of_view[ray.pair.second] < kLeastOfView) continue;
    const double r = rest(ray);
    fit.difference += r * r;
    along += r * ray.by_shift;
    slopes += ray.by_shift * ray.by_shift;
    ++fit.rays;
  }
  if (fit.rays > 0) fit.difference /= static_cast<double>(fit.rays);
  if (slopes > 0) {
    fit.step_px = -along / slopes;
    fit.step_sigma_px = std::sqrt(fit.difference * (between ? kPlacesBetween : 1) / slopes);
  }
  return fit;
}

OppositeRays::Fit OppositeRays::FindShift(const std::vector<Pair>& pairs, Reading& reading,
                                          Fit fit) const {
  for (int step = 0; step < kShiftSteps && fit.step_px != 0; ++step) {
    Reading next = reading;
    next.shift_px += fit.step_px;
    const Fit there = FitOf(pairs, next);
    if (there.rays < kLeastRays || !(there.difference < fit.difference)) break;
    reading = std::move(next);
    fit = there;
  }
  return fit;
}

std::vector<bool> OppositeRays::OddBins() const {
  std::vector<bool> odd(bins_, false);
  std::vector<float> bends;
  const size_t step = (profiles_.size() + kMostBends - 1) / kMostBends;
  for (int bin = 1; bin + 1 < bins_; ++bin) {
    bends.clear();
    for (size_t view = 0; view < profiles_.size(); view += step) {
      if (profiles_[view].lines.empty()) continue;
      const float* at = &profiles_[view].lines[bin];
      bends.push_back(at[0] - 0.5F * (at[-1] + at[1]));
    }
    if (bends.empty()) continue;
    odd[bin] = std::abs(MedianOf(bends)) > kMostBend;
  }
  return odd;
}

double OppositeRays::Noise(const std::vector<Pair>& pairs,
                           const std::vector<bool>& left_out) const {
  std::vector<std::optional<double>> of_bin(bins_);
  std::vector<float> bends;
  for (int bin = 1; bin + 1 < bins_; ++bin) {
    if (left_out[bin - 1] || left_out[bin] || left_out[bin + 1]) continue;
    bends.clear();
    for (const Profile& profile : profiles_) {
      if (profile.lines.empty()) continue;
      const float* at = &profile.lines[bin];
      bends.push_back(std::abs(at[-1] - 2 * at[0] + at[1]));
    }
    if (bends.empty()) continue;
    // A second difference of independent values has six times their variance.
    const double sigma = MedianOf(bends) / 0.6745;
    of_bin[bin] = sigma * sigma / 6;
  }
  const auto at = [&](double u) {
    return of_bin[std::clamp(static_cast<int>(std::lround(u / bin_)), 0, bins_ - 1)];
  };
  double sum = 0;
  int64_t rays = 0;
  for (const Pair& pair : pairs) {
    const auto first = at(pair.first_u), second = at(pair.second_u);
    if (!first || !second) continue;
    sum += *first + *second;
    ++rays;
  }
  return rays == 0 ? 0 : sum / static_cast<double>(rays);
}

double OppositeRays::ByChance(const std::vector<Pair>& pairs, Reading reading,
                              size_t most_orders) const {
  // Frames that see no other source were not read.
  std::vector<int> read;
  for (size_t view = 0; view < profiles_.size(); ++view) {
    if (!profiles_[view].lines.empty()) read.push_back(static_cast<int>(view));
  }
  std::mt19937 random(1);  // the same orders each time
  std::vector<int> order = read;
  const size_t orders = std::clamp(kRaysByChance / pairs.size(), size_t{1}, most_orders);
  double sum = 0;
  for (size_t n = 0; n < orders; ++n) {
    for (size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[random() % k]);
    for (size_t k = 0; k < order.size(); ++k) reading.frames[read[k]] = order[k];
    sum += FitOf(pairs, reading).difference;
  }
  return sum / static_cast<double>(orders);
}

void OppositeRays::FindArc(const Trajectory& trajectory, const std::vector<Pair>& pairs,
                           const Reading& reading, OppositeRaysResult& result) const {
  const std::optional<SourceTurns> turns = TurnsOf(trajectory);
  if (!turns) return;
  const auto share = [&](const std::vector<Pair>& of, const Fit& fit) {
    return fit.difference / ByChance(of, reading, kOrdersOfArc);
  };
  const double as_is = share(pairs, FitOf(pairs, reading));
  const auto share_at = [&](int step) -> std::optional<double> {
    const Trajectory other = Rescaled(trajectory, *turns, 1 + step * kArcStep);
    const std::vector<Pair> of = result.between_frames ? PairsBetween(other) : PairsOf(other);
    const Fit fit = FitOf(of, reading);
    // Few rays at the fan's edges see little of the object.
    if (fit.rays < std::max<int64_t>(kLeastRays, result.rays / 4)) return std::nullopt;
    return share(of, fit);
  };
  int best = 0;
  double least = as_is;
  for (int step = -kArcSteps; step <= kArcSteps; ++step) {
    const std::optional<double> there = step == 0 ? as_is : share_at(step);
    if (!there || *there >= least) continue;
    least = *there;
    best = step;
  }
  const auto before = share_at(best - 1), after = share_at(best + 1);
  double between = 0;
  if (before && after && *before + *after > 2 * least) {
    between = 0.5 * (*before - *after) / (*before + *after - 2 * least);
  }
  const double factor = 1 + (best + std::clamp(between, -0.5, 0.5)) * kArcStep;
  // At the ends less than from one frame to the next: interpolation between frames is as far off.
  if (std::abs(factor - 1) * static_cast<double>(trajectory.size() - 1) < 1) return;
  result.arc_factor = factor;
  result.rescaled = result.difference * std::sqrt(least / as_is);
}

void OppositeRays::FindDrift(const std::vector<Pair>& pairs, Reading reading,
                             OppositeRaysResult& result) const {
  const auto difference_at = [&](double drift) {
    reading.drift = drift;
    return FitOf(pairs, reading).difference;
  };
  const double as_is = result.difference * result.difference;
  double least = as_is;
  for (const int sign : {-1, 1}) {
    // Further on than where it is worse again it is worse still.
    double before = as_is;
    for (int step = 1; step <= kDriftSteps; ++step) {
      const double drift = sign * step * kDriftStep, there = difference_at(drift);
      if (there < least) {
        least = there;
        result.drift = drift;
        result.undrifted = std::sqrt(least);
      }
      if (there > before) break;
      before = there;
    }
  }
}

OppositeRaysResult OppositeRays::Judge(const Trajectory& trajectory) const {
  OppositeRaysResult result;
  std::vector<Pair> pairs = PairsOf(trajectory);
  Reading reading{.frames = std::vector<int>(profiles_.size()), .left_out = OddBins()};
  std::iota(reading.frames.begin(), reading.frames.end(), 0);
  Fit as_is = FitOf(pairs, reading);
  result.between_frames = as_is.rays < kLeastRays;
  if (result.between_frames) {
    pairs = PairsBetween(trajectory);
    as_is = FitOf(pairs, reading);
  }
  result.rays = as_is.rays;
  if (result.rays < kLeastRays) {
    result.not_judged = absl::StrFormat("%d rays are seen from opposite sides; legal is %d or more",
                                        result.rays, kLeastRays);
    return result;
  }
  result.difference = std::sqrt(as_is.difference);
  const double noise = Noise(pairs, reading.left_out);
  result.noise = std::sqrt(noise);
  Reading other = reading;
  std::ranges::reverse(other.frames);
  result.reversed = std::sqrt(FitOf(pairs, other).difference);
  other = reading;
  result.by_chance = std::sqrt(ByChance(pairs, other));
  other.mirrored = true;
  // Of a displaced detector the mirror may show air: all frames agree on that.
  result.mirrored = OppositeRaysResult::TellsOrder(ByChance(pairs, other), noise)
                        ? std::sqrt(FitOf(pairs, other).difference)
                        : result.difference;
  const Fit shifted = FindShift(pairs, reading, as_is);
  result.shift_px = reading.shift_px;
  result.shift_sigma_px = shifted.step_sigma_px;
  result.shifted = std::sqrt(shifted.difference);
  reading.shift_px = 0;
  const double chance = result.by_chance * result.by_chance;
  const double expected =
      std::max(OppositeRaysResult::kLeastOverNoise * noise, kLittleOfChance * chance);
  if (as_is.difference > expected && OppositeRaysResult::TellsOrder(chance, noise)) {
    FindArc(trajectory, pairs, reading, result);
    FindDrift(pairs, reading, result);
  }
  return result;
}

}  // namespace isocenter::recon
