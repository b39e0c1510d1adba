#include "kernels/recon/second_pass/binned_lines.h"

#include <algorithm>
#include <cmath>

#include "kernels/ops/corrections.h"
#include "kernels/ops/second_pass.h"

namespace isocenter::recon {
namespace {

constexpr double kCutLine = 0.2;    // a line integral that no air has
constexpr int kViewsAsked = 36;     // who sees a slice
constexpr double kLeastSeen = 0.3;  // below this there is nothing to divide

double Water(const ops::WaterPolynomial& water, double p) {
  if (water.coefficient.empty()) return p;
  double sum = 0;
  for (size_t n = water.coefficient.size(); n > 0; --n) sum = (sum + water.coefficient[n - 1]) * p;
  return sum;
}

struct Between {
  int first = 0, second = 0;
  double share = 0;
};

Between CellsOf(int pixel, int pixels, int cells) {
  const double at = std::clamp((pixel + 0.5) * cells / pixels - 0.5, 0.0, cells - 1.0);
  const auto first = static_cast<int>(at);
  return {first, std::min(first + 1, cells - 1), at - first};
}

double Mixed(double a, double b, double share) { return a + share * (b - a); }

// Of the views, those of which this point's row is on the detector.
double ShareThatSees(const ScatterPlan& plan, std::span<const ProjectionMatrix> matrices, Vec3 at) {
  const size_t step = std::max<size_t>(1, matrices.size() / kViewsAsked);
  const double last = plan.raw.detector.rows - 1.0;
  int asked = 0, seen = 0;
  for (size_t view = 0; view < matrices.size(); view += step, ++asked) {
    const double v = matrices[view].Project(at).v();
    seen += v >= 0 && v <= last ? 1 : 0;
  }
  return static_cast<double>(seen) / asked;
}

}  // namespace

double ShareOfCutRows(const ScatterPlan& plan, std::span<const float> lines) {
  const Detector& detector = plan.coarse.acquisition.detector;
  const bool displaced = plan.coarse.filtered_detector.columns > detector.columns;
  // What a displaced detector lacks is before its first column or behind its last one.
  const bool look_left = !displaced || plan.coarse.first_column == 0;
  const bool look_right = !displaced || plan.coarse.first_column != 0;
  int64_t cut = 0, rows = 0;
  for (size_t row = 0; row < lines.size(); row += detector.columns, ++rows) {
    const bool left = look_left && lines[row] > kCutLine;
    const bool right = look_right && lines[row + detector.columns - 1] > kCutLine;
    cut += left || right ? 1 : 0;
  }
  return static_cast<double>(cut) / static_cast<double>(rows);
}

void CorrectFrame(const ScatterPlan& plan, std::span<const float> lines,
                  std::span<const double> cells, std::span<float> corrected) {
  const Detector& detector = plan.coarse.acquisition.detector;
  for (int v = 0; v < detector.rows; ++v) {
    const Between down = CellsOf(v, detector.rows, plan.rows);
    for (int u = 0; u < detector.columns; ++u) {
      const size_t at = size_t(v) * detector.columns + u;
      double p = lines[at];
      if (!cells.empty()) {
        const Between across = CellsOf(u, detector.columns, plan.columns);
        const auto line = [&](int row) {
          return Mixed(cells[row * plan.columns + across.first],
                       cells[row * plan.columns + across.second], across.share);
        };
        const double scattered = Mixed(line(down.first), line(down.second), down.share);
        p -= std::log(std::max(1 - scattered * std::exp(p), ops::kLeastUnscattered));
      }
      corrected[at] = static_cast<float>(Water(plan.water, std::min(p, ops::kLongestLineIntegral)));
    }
  }
}

double LineAt(const ScatterPlan& plan, std::span<const float> lines, double u, double v) {
  const Detector& binned = plan.coarse.acquisition.detector;
  const auto index = [&](double share, int pixels, int first, int count) {
    const auto pixel = static_cast<int>(share * pixels);
    return std::clamp((pixel - first) / plan.bin, 0, count - 1);
  };
  const int column = index(u, plan.raw.detector.columns, plan.first_column, binned.columns);
  const int row = index(v, plan.raw.detector.rows, plan.first_row, binned.rows);
  return lines[size_t(row) * binned.columns + column];
}

double LineThrough(const ScatterPlan& plan, const scatter::Object& object,
                   const scatter::Plane& plane, double u, double v) {
  const Vec3 way = plane.Point(u, v) - plane.source();
  const scatter::PerTissue mass = object.Along(plane.source(), (1 / Norm(way)) * way);
  double passes = 0;
  for (size_t k = 0; k < plan.beam.kev.size(); ++k) {
    passes +=
        plan.beam.share[k] * std::exp(-scatter::Dot(mass, plan.sections->Total(plan.beam.kev[k])));
  }
  return -std::log(passes);
}

void EvenOutSlices(const ScatterPlan& plan, std::span<const ProjectionMatrix> matrices,
                   HostView3<float> volume) {
  const VolumeGrid& grid = plan.coarse.grid;
  const int middle = grid.nz / 2;
  const auto even_out = [&](int k, int towards_middle) {
    for (int j = 0; j < grid.ny; ++j) {
      for (int i = 0; i < grid.nx; ++i) {
        const double seen = ShareThatSees(plan, matrices, grid.VoxelToWorld(i, j, k));
        float& hu = volume(k, j, i);
        if (seen >= 1) continue;
        hu = seen < kLeastSeen ? volume(k + towards_middle, j, i)
                               : static_cast<float>((hu + 1000) / seen - 1000);
      }
    }
  };
  for (int k = middle + 1; k < grid.nz; ++k) even_out(k, -1);
  for (int k = middle - 1; k >= 0; --k) even_out(k, 1);
}

}  // namespace isocenter::recon
