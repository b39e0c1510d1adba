#include "kernels/calibrate/geometry/pose_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_format.h"
#include "kernels/base/units.h"

namespace isocenter::calibrate {
namespace {

constexpr double kTwoSizes = 1.25;  // ratio from which sizes are told apart
// Of logarithms of radii: balls at the tube's side of the phantom against those at the detector's,
// pixels of small shadows, and balls that are not quite of their class's mean size.
constexpr double kHeapWidth = 0.15, kMostHeapWidth = 0.35;
constexpr double kUsualMagnification = 1.6;
constexpr double kCellMm = 1.5;  // of the map that is asked for shadows
constexpr int kShiftSteps = 3;   // of two cells
constexpr std::array kDistancesMm = {500.0, 750.0, 1100.0};
constexpr std::array kScales = {0.92, 1.0, 1.09};
constexpr double kMostAspectError = 1.4;
// A divisor of 360. Balls at 60 mm from the axis are then at most 1 mm from where they are looked
// for.
constexpr int kStepDeg = 2;
constexpr size_t kMostCandidates = 24, kMostTurnedCandidates = 8;
// A view is another one when it is turned by more than this against the first.
constexpr double kOtherViewDeg = 5;
constexpr double kUnexplainedMm = 3;

// Gates for matching (mm at the phantom), and what is fitted to the matches.
struct Stage {
  double gate_mm;
  int parameters;
};
constexpr std::array<Stage, 6> kStages = {{{6, kPoseParameters},
                                           {4, kPoseParameters},
                                           {3, kPoseParameters},
                                           {2.5, kSquareParameters},
                                           {1.6, kSquareParameters},
                                           {1, kSquareParameters}}};

struct Span {
  double low = 0, high = 0;
  double middle() const { return (low + high) / 2; }
  double length() const { return high - low; }
};

// Without a twentieth of the values at each end.
Span SpanOf(std::vector<double> values) {
  const size_t first = values.size() / 20;
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(first));
  Span span{values[first], 0};
  const size_t last = values.size() - 1 - first;
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(last));
  span.high = values[last];
  return span;
}

template <class Points>
std::pair<Span, Span> SpansOf(const Points& points) {
  std::vector<double> u, v;
  for (const auto& point : points) {
    u.push_back(point.u);
    v.push_back(point.v);
  }
  return {SpanOf(std::move(u)), SpanOf(std::move(v))};
}

struct Point {
  double u, v;
};

std::vector<Point> ProjectAll(const BeadTable& table, const Pinhole& camera) {
  std::vector<Point> points;
  points.reserve(table.size());
  for (const Bead& bead : table) {
    const Eigen::Vector2d at = camera.Project(bead.center);
    points.push_back({at.x(), at.y()});
  }
  return points;
}

double PxPerMm(const Pinhole& camera) { return camera.focal / camera.translation.z(); }

Eigen::Matrix3d AboutZ(double angle) {
  return Eigen::AngleAxisd(angle, Eigen::Vector3d::UnitZ()).toRotationMatrix();
}

// Looks along -x at the phantom's z axis, which runs up the detector's rows.
Eigen::Matrix3d UprightView() {
  Eigen::Matrix3d view;
  view << 0, 1, 0, 0, 0, -1, -1, 0, 0;
  return view;
}

absl::Status Unidentified(int agreeing, size_t shadows, int legal) {
  return absl::FailedPreconditionError(absl::StrFormat(
      "of %d round shadows %d agree with the table of the phantom; legal is %d or more: is it this "
      "phantom, all of it on the detector, and nothing of metal beside it?",
      shadows, agreeing, legal));
}

}  // namespace

struct PoseSearch::Sighting {
  double u, v;
  bool large;
};

// Which shadow of a class is within about 1.5 cells of a place.
class PoseSearch::HitMap {
 public:
  HitMap(const std::vector<Sighting>& shadows, const Detector& detector)
      : cell_(kCellMm * kUsualMagnification / detector.pitch_u_mm),
        columns_(static_cast<int>(detector.columns / cell_) + 1),
        rows_(static_cast<int>(detector.rows / cell_) + 1),
        spans_(SpansOf(shadows)) {
    for (auto& map : shadow_) map.assign(size_t(columns_) * rows_, -1);
    seen_.assign(shadows.size(), 0);
    for (const bool center : {true, false}) {  // a shadow's own cell goes before its neighbours'
      for (size_t i = 0; i < shadows.size(); ++i) Stamp(shadows[i], static_cast<int>(i), center);
    }
  }

  double cell() const { return cell_; }
  const std::pair<Span, Span>& spans() const { return spans_; }

  /// Different shadows that the points, moved, are at.
  int Hits(const std::vector<Point>& points, const std::vector<bool>& large, double du,
           double dv) const {
    ++round_;
    int hits = 0;
    for (size_t i = 0; i < points.size(); ++i) {
      const double x = (points[i].u + du) / cell_, y = (points[i].v + dv) / cell_;
      if (!(x >= 0 && y >= 0 && x < columns_ && y < rows_)) continue;
      const int shadow = shadow_[large[i]][size_t(y) * columns_ + size_t(x)];
      if (shadow < 0 || seen_[shadow] == round_) continue;
      seen_[shadow] = round_;
      ++hits;
    }
    return hits;
  }

 private:
  void Stamp(const Sighting& at, int index, bool center) {
    const int x0 = static_cast<int>(at.u / cell_), y0 = static_cast<int>(at.v / cell_);
    const int around = center ? 0 : 1;
    for (int y = std::max(0, y0 - around); y <= std::min(rows_ - 1, y0 + around); ++y) {
      for (int x = std::max(0, x0 - around); x <= std::min(columns_ - 1, x0 + around); ++x) {
        int& shadow = shadow_[at.large][size_t(y) * columns_ + x];
        if (shadow < 0) shadow = index;
      }
    }
  }

  double cell_;
  int columns_, rows_;
  std::pair<Span, Span> spans_;
  std::array<std::vector<int>, 2> shadow_;  // index in each cell, -1: none
  mutable std::vector<int> seen_;           // the round in which a shadow was hit last
  mutable int round_ = 0;
};

PoseSearch::PoseSearch(BeadTable table, const Detector& detector)
    : table_(std::move(table)), detector_(detector) {
  const auto [least, most] =
      std::ranges::minmax_element(table_, {}, [](const Bead& bead) { return bead.diameter_mm; });
  two_sizes_ = most->diameter_mm >= kTwoSizes * least->diameter_mm;
  const double border = std::sqrt(most->diameter_mm * least->diameter_mm);
  double sums[2] = {0, 0}, counts[2] = {0, 0};
  for (const Bead& bead : table_) {
    large_.push_back(two_sizes_ && bead.diameter_mm > border);
    sums[large_.back()] += std::log(bead.diameter_mm);
    counts[large_.back()] += 1;
  }
  if (two_sizes_) size_ratio_ = sums[1] / counts[1] - sums[0] / counts[0];
}

// Shadows of the two sizes are in two heaps, whose distance the table tells. What is in neither is
// no ball's shadow alone, and there may be much of it.
std::vector<PoseSearch::Sighting> PoseSearch::Classify(std::span<const RoundShadow> shadows) const {
  std::vector<double> sizes;
  for (const RoundShadow& shadow : shadows) sizes.push_back(std::log(shadow.radius_px));
  const auto heap = [&sizes](double middle) {
    return std::ranges::count_if(
        sizes, [middle](double size) { return std::abs(size - middle) < kHeapWidth; });
  };
  double small = 0;
  int64_t most = -1;
  for (const double size : sizes) {
    const int64_t both = heap(size) + (two_sizes_ ? heap(size + size_ratio_) : 0);
    if (both > most) most = both, small = size;
  }
  std::vector<Sighting> classified;
  for (size_t i = 0; i < shadows.size(); ++i) {
    const bool large = two_sizes_ && sizes[i] > small + size_ratio_ / 2;
    if (std::abs(sizes[i] - small - (large ? size_ratio_ : 0)) > kMostHeapWidth) continue;
    classified.push_back({shadows[i].u, shadows[i].v, large});
  }
  return classified;
}

// Moved so that the middles of balls and shadows are one, and then to all sides: balls at an end of
// the phantom that are too near to each other to be found move the shadows' middle.
PoseSearch::Candidate PoseSearch::Best(const Pinhole& camera, const HitMap& map) const {
  const std::vector<Point> points = ProjectAll(table_, camera);
  const auto [u, v] = SpansOf(points);
  const double du = map.spans().first.middle() - u.middle();
  const double dv = map.spans().second.middle() - v.middle();
  Candidate found{camera, 0};
  for (int j = -kShiftSteps; j <= kShiftSteps; ++j) {
    for (int i = -kShiftSteps; i <= kShiftSteps; ++i) {
      const double su = du + 2 * i * map.cell(), sv = dv + 2 * j * map.cell();
      const int hits = map.Hits(points, large_, su, sv);
      if (hits <= found.hits) continue;
      found.hits = hits;
      found.camera.translation = camera.translation;
      found.camera.translation.x() += su / PxPerMm(camera);
      found.camera.translation.y() += sv / PxPerMm(camera) / camera.aspect;
    }
  }
  return found;
}

// Candidates are in rings of neighbours; one that a neighbour beats is the same view, less well
// seen, and would only take the place of another view.
std::vector<PoseSearch::Candidate> PoseSearch::Peaks(const std::vector<Candidate>& ring,
                                                     size_t length, size_t most) {
  std::vector<Candidate> peaks;
  for (size_t i = 0; i < ring.size(); ++i) {
    const size_t first = i / length * length, at = i - first;
    const int before = ring[first + (at + length - 1) % length].hits;
    const int behind = ring[first + (at + 1) % length].hits;
    if (ring[i].hits > before && ring[i].hits >= behind) peaks.push_back(ring[i]);
  }
  std::ranges::stable_sort(peaks, {}, [](const Candidate& peak) { return -peak.hits; });
  if (peaks.size() > most) peaks.resize(most);
  return peaks;
}

absl::StatusOr<FoundPose> PoseSearch::Find(std::span<const RoundShadow> shadows) const {
  if (shadows.size() < kLeastAgreeing) return Unidentified(0, shadows.size(), kLeastAgreeing);
  const std::vector<Sighting> sightings = Classify(shadows);
  const HitMap map(sightings, detector_);
  constexpr int kSteps = 360 / kStepDeg;
  std::vector<Candidate> rings;
  for (int view = 0; view < 8 * kSteps; ++view) {
    const int quarter = view / kSteps % 4;
    Pinhole camera;
    camera.aspect = detector_.pitch_u_mm / detector_.pitch_v_mm * (view < 4 * kSteps ? 1 : -1);
    camera.rotation = AboutZ(quarter * kPi / 2) * UprightView() *
                      AboutZ(DegreesToRadians(kStepDeg * (view % kSteps)));
    camera.u0 = (detector_.columns - 1) / 2.0;
    camera.v0 = (detector_.rows - 1) / 2.0;
    Candidate& best = rings.emplace_back();
    for (const double distance : kDistancesMm) {
      camera.translation = {0, 0, distance};
      camera.focal = distance;
      const auto [u, v] = SpansOf(ProjectAll(table_, camera));
      const double scale_u = map.spans().first.length() / u.length();
      const double scale_v = map.spans().second.length() / v.length();
      if (!(std::max(scale_u, scale_v) <= kMostAspectError * std::min(scale_u, scale_v))) continue;
      for (const double factor : kScales) {
        camera.focal = factor * distance * (scale_u + scale_v) / 2;
        const Candidate candidate = Best(camera, map);
        if (candidate.hits > best.hits) best = candidate;
      }
    }
  }
  return Refine(Peaks(rings, kSteps, kMostCandidates), sightings);
}

absl::StatusOr<FoundPose> PoseSearch::FindTurned(std::span<const RoundShadow> shadows,
                                                 const Pinhole& near) const {
  if (shadows.size() < kLeastAgreeing) return Unidentified(0, shadows.size(), kLeastAgreeing);
  const std::vector<Sighting> sightings = Classify(shadows);
  const HitMap map(sightings, detector_);
  std::vector<Candidate> ring;
  for (int degrees = 0; degrees < 360; degrees += kStepDeg) {
    Pinhole camera = near;
    camera.rotation = near.rotation * AboutZ(DegreesToRadians(degrees));
    ring.push_back(Best(camera, map));
  }
  return Refine(Peaks(ring, ring.size(), kMostTurnedCandidates), sightings);
}

int PoseSearch::Agreeing(const std::vector<Sighting>& shadows, double gate_px,
                         const Pinhole& camera, std::vector<BeadShadow>& matches) const {
  const std::vector<Point> points = ProjectAll(table_, camera);
  matches.clear();
  for (const Sighting& shadow : shadows) {
    double nearest = gate_px * gate_px;
    int bead = -1;
    for (size_t i = 0; i < points.size(); ++i) {
      if (large_[i] != shadow.large) continue;
      const double du = points[i].u - shadow.u, dv = points[i].v - shadow.v;
      const double distance = du * du + dv * dv;
      if (distance >= nearest) continue;
      nearest = distance;
      bead = static_cast<int>(i);
    }
    if (bead >= 0) matches.push_back({bead, shadow.u, shadow.v});
  }
  // A ball has one shadow.
  std::vector<bool> taken(table_.size());
  int agreeing = 0;
  for (const BeadShadow& match : matches) {
    if (!taken[match.bead]) ++agreeing;
    taken[match.bead] = true;
  }
  return agreeing;
}

absl::StatusOr<FoundPose> PoseSearch::Refine(const std::vector<Candidate>& candidates,
                                             const std::vector<Sighting>& shadows) const {
  std::vector<FoundPose> poses;
  std::vector<BeadShadow> matches;
  for (const Candidate& candidate : candidates) {
    FoundPose pose{candidate.camera, 0, 0};
    for (const Stage& stage : kStages) {
      const double gate_px = stage.gate_mm * PxPerMm(pose.camera);
      pose.agreeing = Agreeing(shadows, gate_px, pose.camera, matches);
      if (pose.agreeing < kLeastAgreeing) break;
      FitCamera(table_, matches, stage.parameters, gate_px / 2, 4, pose.camera);
    }
    poses.push_back(pose);
  }
  std::ranges::stable_sort(poses, {}, [](const FoundPose& pose) { return -pose.agreeing; });
  const int legal = std::max(
      kLeastAgreeing,
      static_cast<int>(std::ceil(kLeastAgreeingShare *
                                 static_cast<double>(std::min(shadows.size(), table_.size())))));
  if (poses.empty() || poses.front().agreeing < legal) {
    return Unidentified(poses.empty() ? 0 : poses.front().agreeing, shadows.size(), legal);
  }
  FoundPose& best = poses.front();
  for (const FoundPose& other : poses) {
    const Eigen::AngleAxisd between(
        Eigen::Matrix3d(best.camera.rotation.transpose() * other.camera.rotation));
    if (std::abs(between.angle()) < DegreesToRadians(kOtherViewDeg) &&
        best.camera.aspect == other.camera.aspect) {
      continue;
    }
    if (other.agreeing <= kMostOtherShare * best.agreeing) continue;
    return absl::FailedPreconditionError(absl::StrFormat(
        "two views of the phantom agree with %d and %d of %d round shadows; legal is one that "
        "agrees with at least a quarter more than any other",
        best.agreeing, other.agreeing, shadows.size()));
  }
  const std::vector<Point> points = ProjectAll(table_, best.camera);
  const double far_px = kUnexplainedMm * PxPerMm(best.camera);
  for (const Sighting& shadow : shadows) {
    const bool explained = std::ranges::any_of(points, [&](const Point& point) {
      return std::hypot(point.u - shadow.u, point.v - shadow.v) < far_px;
    });
    if (!explained) ++best.unexplained;
  }
  return best;
}

}  // namespace isocenter::calibrate
