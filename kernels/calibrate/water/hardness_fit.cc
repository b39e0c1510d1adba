#include "kernels/calibrate/water/hardness_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/calibrate/water/water_polynomial.h"

namespace isocenter::calibrate {
namespace {

constexpr int kBins = 32, kChordClasses = 60, kLeastRaysOfCell = 10;
constexpr double kShortestShare = 0.1;  // of the thickest cylinder
// One more than of one beam: they reach as far as the water and the filter together.
constexpr int kNodes = 13, kCoefficients = kWaterCoefficients + 1;
// A profile's departure from a parabola by 1 from node to node weighs as a chord that is missed by
// so much (mm): filters are smooth, and noise is not. Chords tell hardness by tenths of a
// millimetre.
constexpr double kBendMm = 0.5;
constexpr int kSteps = 40;
constexpr double kMoveMm = 0.05;
// A cylinder that is looked for without knowing the hardness is off by a millimetre.
constexpr int kRounds = 12;
constexpr double kSettledMm = 0.005;
constexpr double kStep = 1e-4;

/// Mean of the rays of nearly the same chord and columns, on one side of the axis.
struct Cell {
  double chord_mm = 0, line_integral = 0, column = 0;
  double by_x = 0, by_y = 0;  // what the chord gains where the cylinder stands a millimetre further
  size_t scan = 0;
  int chord_class = 0, rays = 0;
};

/// On which side of the cylinder's axis a ray passes.
int SideOf(const Cylinder& cylinder, const MeasuredRay& ray) {
  const Vec3 to_axis = Vec3{cylinder.x_mm, cylinder.y_mm, 0} - ray.source;
  return ray.direction.x * to_axis.y > ray.direction.y * to_axis.x ? 1 : 0;
}

std::vector<Cell> CellsOf(const std::vector<CylinderScan>& scans, const Detector& detector,
                          double thickest_mm) {
  struct Sum {
    double chord = 0, transmission = 0, column = 0, by_x = 0, by_y = 0;
    int rays = 0;
  };
  std::vector<Cell> cells;
  for (size_t n = 0; n < scans.size(); ++n) {
    const CylinderScan& scan = scans[n];
    const auto moved = [&](double x, double y) {
      Cylinder cylinder = scan.cylinder;
      cylinder.x_mm += x;
      cylinder.y_mm += y;
      return cylinder;
    };
    const Cylinder right = moved(kMoveMm, 0), left = moved(-kMoveMm, 0);
    const Cylinder up = moved(0, kMoveMm), down = moved(0, -kMoveMm);
    std::vector<Sum> sums(size_t{2} * kBins * kChordClasses);
    for (const MeasuredRay& ray : scan.rays) {
      const double chord = scan.cylinder.ChordMm(ray);
      const double share = chord / thickest_mm;
      if (share < kShortestShare) continue;
      const int chord_class = std::min(kChordClasses - 1, static_cast<int>(share * kChordClasses));
      const auto bin = static_cast<int>(int64_t{ray.column} * kBins / detector.columns);
      const int side = SideOf(scan.cylinder, ray);
      Sum& sum = sums[(size_t(side) * kBins + bin) * kChordClasses + chord_class];
      sum.chord += chord;
      sum.transmission += ray.transmission;
      sum.column += ray.column;
      sum.by_x += (right.ChordMm(ray) - left.ChordMm(ray)) / (2 * kMoveMm);
      sum.by_y += (up.ChordMm(ray) - down.ChordMm(ray)) / (2 * kMoveMm);
      ++sum.rays;
    }
    for (size_t i = 0; i < sums.size(); ++i) {
      const Sum& sum = sums[i];
      if (sum.rays < kLeastRaysOfCell || !(sum.transmission > 0)) continue;
      cells.push_back({.chord_mm = sum.chord / sum.rays,
                       .line_integral = -std::log(sum.transmission / sum.rays),
                       .column = sum.column / sum.rays,
                       .by_x = sum.by_x / sum.rays,
                       .by_y = sum.by_y / sum.rays,
                       .scan = n,
                       .chord_class = static_cast<int>(i % kChordClasses),
                       .rays = sum.rays});
    }
  }
  return cells;
}

/// Columns between which hardness can be told.
struct SeenColumns {
  double first = 0, last = 0;
};

absl::StatusOr<SeenColumns> ColumnsSeen(const std::vector<Cell>& cells, const Detector& detector,
                                        double thickest_mm) {
  struct Span {
    double least = 1e9, most = 0;
  };
  std::vector<Span> spans(kBins);
  for (const Cell& cell : cells) {
    Span& span =
        spans[std::min(kBins - 1, static_cast<int>(cell.column * kBins / detector.columns))];
    span.least = std::min(span.least, cell.chord_mm);
    span.most = std::max(span.most, cell.chord_mm);
  }
  int first = kBins, last = -1, seen = 0;
  for (int bin = 0; bin < kBins; ++bin) {
    if (spans[bin].most - spans[bin].least < kLeastChordSpan * thickest_mm) continue;
    first = std::min(first, bin);
    last = bin;
    ++seen;
  }
  const Figure share{"columns that see chords of different lengths", 100.0 * seen / kBins, "%"};
  if (share.value < 100 * kLeastSeenShare) {
    return NotGoodEnough(share, absl::StrFormat("at least %g %%", 100 * kLeastSeenShare),
                         "let the cylinder stand beside the axis, a quarter of its diameter away, "
                         "or scan a thin and a thick one");
  }
  const double width = static_cast<double>(detector.columns) / kBins;
  return SeenColumns{(first + 0.5) * width, (last + 0.5) * width};
}

/// Hardness over the columns: a Catmull-Rom spline through nodes, which leaves parabolas as they
/// are.
class Profile {
 public:
  Profile(SeenColumns seen, Eigen::VectorXd nodes) : seen_(seen), nodes_(std::move(nodes)) {}

  double At(double column) const {
    const double share = (std::clamp(column, seen_.first, seen_.last) - seen_.first) /
                         std::max(1e-9, seen_.last - seen_.first);
    const Eigen::Index last = nodes_.size() - 1;
    const double at = share * static_cast<double>(last);
    const auto low = std::min<Eigen::Index>(static_cast<Eigen::Index>(at), last - 1);
    const double t = at - static_cast<double>(low);
    const double b = nodes_[low], c = nodes_[low + 1];
    // Beyond the ends as the parabola through the last three.
    const double a = low > 0 ? nodes_[low - 1] : 3 * b - 3 * c + nodes_[low + 2];
    const double d = low + 2 <= last ? nodes_[low + 2] : 3 * c - 3 * b + nodes_[low - 1];
    return b + t / 2 * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)));
  }
  const Eigen::VectorXd& nodes() const { return nodes_; }
  Profile Moved(const Eigen::VectorXd& by) const { return {seen_, nodes_ + by}; }

 private:
  SeenColumns seen_;
  Eigen::VectorXd nodes_;
};

/// The best polynomial for a profile, with how far cylinders stand from where they were found, and
/// what is left: chords first, then the profile's bends.
struct Solution {
  Polynomial chord;
  std::vector<double> moved_mm;  // x, y of each scan
  Eigen::VectorXd left;
};

Solution Solve(const std::vector<Cell>& cells, const Profile& profile) {
  const auto count = static_cast<Eigen::Index>(cells.size());
  const Eigen::Index bends = profile.nodes().size() - 3;
  const Eigen::Index unknowns =
      kCoefficients + 2 * static_cast<Eigen::Index>(cells.back().scan + 1);
  Eigen::MatrixXd powers = Eigen::MatrixXd::Zero(count, unknowns);
  Eigen::VectorXd chords(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const double h = profile.At(cells[i].column), x = cells[i].line_integral + h;
    double of_x = 1, of_h = 1;
    for (int n = 0; n < kCoefficients; ++n) powers(i, n) = (of_x *= x) - (of_h *= h);
    const auto place = kCoefficients + 2 * static_cast<Eigen::Index>(cells[i].scan);
    powers(i, place) = -cells[i].by_x;
    powers(i, place + 1) = -cells[i].by_y;
    chords[i] = cells[i].chord_mm;
  }
  const Eigen::VectorXd c = powers.colPivHouseholderQr().solve(chords);
  Eigen::VectorXd left(count + bends);
  left.head(count) = chords - powers * c;
  for (Eigen::Index k = 0; k < bends; ++k) {
    const Eigen::VectorXd& h = profile.nodes();
    left[count + k] = kBendMm * (h[k + 3] - 3 * h[k + 2] + 3 * h[k + 1] - h[k]);
  }
  return {{c.begin(), c.begin() + kCoefficients},
          {c.begin() + kCoefficients, c.end()},
          std::move(left)};
}

/// From a profile that rises by `rise` on both sides.
std::pair<Profile, Solution> Search(const std::vector<Cell>& cells, SeenColumns seen, double rise) {
  Eigen::VectorXd nodes(kNodes);
  for (int k = 0; k < kNodes; ++k) nodes[k] = rise * std::pow(2.0 * k / (kNodes - 1) - 1, 2);
  Profile profile(seen, std::move(nodes));
  Solution best = Solve(cells, profile);
  double damping = 1e-3;
  for (int step = 0; step < kSteps && damping < 1e9; ++step) {
    Eigen::MatrixXd jacobian(best.left.size(), kNodes);
    for (int k = 0; k < kNodes; ++k) {
      const Eigen::VectorXd by = kStep * Eigen::VectorXd::Unit(kNodes, k);
      jacobian.col(k) = (Solve(cells, profile.Moved(by)).left - best.left) / kStep;
    }
    const Eigen::MatrixXd normal = jacobian.transpose() * jacobian;
    const double scale = normal.diagonal().maxCoeff();
    const Eigen::MatrixXd damped =
        normal + damping * scale * Eigen::MatrixXd::Identity(kNodes, kNodes);
    const Profile moved = profile.Moved(-damped.ldlt().solve(jacobian.transpose() * best.left));
    Solution next = Solve(cells, moved);
    if (next.left.squaredNorm() < best.left.squaredNorm()) {
      const double gained = 1 - next.left.squaredNorm() / best.left.squaredNorm();
      profile = moved;
      best = std::move(next);
      damping /= 10;
      if (gained < 1e-6) break;
    } else {
      damping *= 10;
    }
  }
  return {std::move(profile), std::move(best)};
}

/// The best of several searches: one that begins too flat may end where another polynomial makes up
/// for a hardness of the wrong sign.
Profile FitProfile(const std::vector<Cell>& cells, SeenColumns seen) {
  auto best = Search(cells, seen, 0);
  for (const double rise : {1.5, 4.0}) {
    auto other = Search(cells, seen, rise);
    if (other.second.left.squaredNorm() < best.second.left.squaredNorm()) best = std::move(other);
  }
  // All columns may be called harder by the same: the softest is 0.
  const Profile& profile = best.first;
  return profile.Moved(Eigen::VectorXd::Constant(kNodes, -profile.nodes().minCoeff()));
}

/// The polynomial of the softest column, continued beyond what was measured.
Polynomial ChordOf(const std::vector<Cell>& cells, const Profile& profile) {
  const Polynomial first = Solve(cells, profile).chord;
  std::vector<WaterPoint> points;
  for (const Cell& cell : cells) {
    const double h = profile.At(cell.column);
    points.push_back({cell.chord_mm + Value(first, h), cell.line_integral + h});
  }
  std::ranges::sort(points, {}, &WaterPoint::water_mm);
  return ChordOfLineIntegral(std::move(points), kCoefficients,
                             static_cast<float>(profile.nodes().maxCoeff()));
}

/// Of each class of chords, over all columns.
std::vector<WaterPoint> PointsOf(const std::vector<Cell>& cells, const Profile& profile,
                                 const Polynomial& chord) {
  std::vector<WaterPoint> points(kChordClasses);
  std::vector<double> rays(kChordClasses);
  for (const Cell& cell : cells) {
    const double h = profile.At(cell.column);
    WaterPoint& point = points[cell.chord_class];
    point.water_mm += cell.rays * cell.chord_mm;
    point.line_integral += cell.rays * cell.line_integral;
    point.found_mm += cell.rays * (Value(chord, cell.line_integral + h) - Value(chord, h));
    rays[cell.chord_class] += cell.rays;
  }
  std::vector<WaterPoint> means;
  for (int k = 0; k < kChordClasses; ++k) {
    if (rays[k] == 0) continue;
    means.push_back({points[k].water_mm / rays[k], points[k].line_integral / rays[k],
                     points[k].found_mm / rays[k]});
  }
  return means;
}

}  // namespace

namespace {

/// Where the cylinder stands, and that it is as thick as it should be, in the scan as a beam of one
/// energy would have seen it.
absl::StatusOr<Cylinder> PlacedAgain(const CylinderScan& scan, const WaterFit& fit) {
  std::vector<MeasuredRay> rays = scan.rays;
  const double least = std::exp(-ops::kLongestLineIntegral);
  for (MeasuredRay& ray : rays) {
    const double h = fit.polynomial.hardness[ray.column];
    const double p = -std::log(std::clamp(ray.transmission, least, 2.0));
    ray.transmission =
        std::exp(Value(fit.polynomial.coefficient, h) - Value(fit.polynomial.coefficient, p + h));
  }
  return FitCylinder(rays, scan.cylinder.diameter_mm);
}

/// `moved_mm`: how far each scan's cylinder stands from where it was said to, x and y.
absl::StatusOr<WaterFit> FitOnce(const std::vector<CylinderScan>& scans, const Detector& detector,
                                 std::vector<double>& moved_mm) {
  double thickest = 0;
  for (const CylinderScan& scan : scans) {
    ISO_RETURN_IF_ERROR(WaterPoints(scan).status());
    thickest = std::max(thickest, scan.cylinder.diameter_mm);
  }
  const std::vector<Cell> cells = CellsOf(scans, detector, thickest);
  ISO_ASSIGN_OR_RETURN(const SeenColumns seen, ColumnsSeen(cells, detector, thickest));
  const Profile profile = FitProfile(cells, seen);
  moved_mm = Solve(cells, profile).moved_mm;
  const Polynomial chord = ChordOf(cells, profile);
  WaterFit fit;
  fit.polynomial.coefficient = chord;
  fit.points = PointsOf(cells, profile, chord);
  ISO_RETURN_IF_ERROR(ops::CheckWaterPolynomial(fit.polynomial));
  double thickest_mm = 0;  // with what hardened the beam before
  for (const Cell& cell : cells) {
    thickest_mm = std::max(thickest_mm, cell.chord_mm + Value(chord, profile.At(cell.column)));
  }
  fit.polynomial.thickest_mm = std::min(thickest_mm, ops::kMostFittedMm);
  const double reference_mm = std::min(kReferenceMm, thickest);
  const double middle = profile.At((detector.columns - 1) / 2.0);
  fit.mu_water_per_mm =
      (Inverse(chord, reference_mm + Value(chord, middle)) - middle) / reference_mm;
  for (double& c : fit.polynomial.coefficient) c *= fit.mu_water_per_mm;
  float hardest = 0;
  for (int u = 0; u < detector.columns; ++u) {
    fit.polynomial.hardness.push_back(static_cast<float>(std::max(0.0, profile.At(u))));
    hardest = std::max(hardest, fit.polynomial.hardness.back());
  }
  ISO_RETURN_IF_ERROR(ops::CheckWaterPolynomial(fit.polynomial));
  ISO_RETURN_IF_ERROR(ops::CheckHardness(fit.polynomial, detector));
  fit.figures = {
      {"hardness of the hardest column", hardest, ""},
      {"columns whose hardness was seen", 100 * (seen.last - seen.first) / detector.columns, "%"}};
  return fit;
}

}  // namespace

absl::StatusOr<WaterFit> FitWaterByColumn(const std::vector<CylinderScan>& scans,
                                          const Detector& detector) {
  if (scans.empty()) return absl::InvalidArgumentError("there is no scan of water");
  std::vector<CylinderScan> placed = scans;
  std::vector<double> moved_mm;
  double thickest = 0;
  ISO_ASSIGN_OR_RETURN(WaterFit fit, FitOnce(placed, detector, moved_mm));
  for (int round = 0; round < kRounds; ++round) {
    double farthest = 0;
    for (size_t n = 0; n < placed.size(); ++n) {
      placed[n].cylinder.x_mm += moved_mm[2 * n];
      placed[n].cylinder.y_mm += moved_mm[2 * n + 1];
      farthest = std::max(farthest, std::hypot(moved_mm[2 * n], moved_mm[2 * n + 1]));
    }
    ISO_ASSIGN_OR_RETURN(fit, FitOnce(placed, detector, moved_mm));
    if (farthest < kSettledMm) break;
  }
  for (const CylinderScan& scan : placed) {
    ISO_RETURN_IF_ERROR(PlacedAgain(scan, fit).status());
    thickest = std::max(thickest, scan.cylinder.diameter_mm);
  }
  const Figures of_columns = std::move(fit.figures);
  ISO_RETURN_IF_ERROR(JudgeWater(thickest, std::min(kReferenceMm, thickest), fit));
  fit.figures.insert(fit.figures.end(), of_columns.begin(), of_columns.end());
  return fit;
}

}  // namespace isocenter::calibrate
