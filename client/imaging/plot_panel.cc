#include "client/imaging/plot_panel.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "client/imaging/label.h"
#include "client/imaging/plot_axis.h"

namespace isocenter::imaging {
namespace {

constexpr uint8_t kInk = 0, kAxis = 90, kLine = 205, kFaintLine = 235;
// In an area of this size; in others all is as many times as large.
constexpr double kWidth = 900, kHeight = 420;
constexpr double kText = 13;                                         // height of capitals
constexpr double kLeft = 100, kRight = 24, kTop = 36, kBottom = 60;  // around the diagram

void Dot(formats::GrayImage& image, int x, int y, int radius, uint8_t gray) {
  for (int dy = -radius; dy <= radius; ++dy) {
    for (int dx = -radius; dx <= radius; ++dx) {
      const int px = x + dx, py = y + dy;
      if (px >= 0 && py >= 0 && px < image.width && py < image.height) image.at(px, py) = gray;
    }
  }
}

void Segment(formats::GrayImage& image, double x0, double y0, double x1, double y1, int radius,
             uint8_t gray) {
  const int steps = std::max(1, static_cast<int>(std::max(std::abs(x1 - x0), std::abs(y1 - y0))));
  for (int i = 0; i <= steps; ++i) {
    const double t = static_cast<double>(i) / steps;
    Dot(image, static_cast<int>(std::lround(x0 + t * (x1 - x0))),
        static_cast<int>(std::lround(y0 + t * (y1 - y0))), radius, gray);
  }
}

// Over all curves; at least one has a point.
AxisRange RangeOf(std::span<const Curve> curves, double CurvePoint::*value, bool logarithmic) {
  AxisRange range{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                  logarithmic};
  for (const Curve& curve : curves) {
    for (const CurvePoint& point : curve.points) {
      range.low = std::min(range.low, point.*value);
      range.high = std::max(range.high, point.*value);
    }
  }
  if (range.high > range.low) return range;
  const double margin = std::max(std::abs(range.low) * 0.05, 1e-6);  // a single value
  return {range.low - margin, range.high + margin, logarithmic};
}

// Where a diagram is in the image, and what it shows.
struct Diagram {
  int left = 0, right = 0, top = 0, bottom = 0;
  double unit = 1;  // by which text and lines are larger than in an image of kWidth x kHeight
  AxisRange horizontal, vertical;
  double text() const { return kText * unit; }
  int Scaled(double pixels) const { return static_cast<int>(std::lround(pixels * unit)); }
  double X(double x) const { return left + horizontal.Share(x) * (right - left); }
  double Y(double y) const { return bottom - vertical.Share(y) * (bottom - top); }
};

// The points that can be drawn, with logarithms where they are asked for.
std::vector<Curve> Shown(const PlotAxes& axes, std::span<const Curve> curves) {
  std::vector<Curve> all;
  for (const Curve& curve : curves) {
    Curve shown{.name = curve.name, .points = {}};
    for (const CurvePoint& point : curve.points) {
      const double x = axes.logarithmic_x ? std::log10(point.x) : point.x;
      const double y = axes.logarithmic ? std::log10(point.y) : point.y;
      if (std::isfinite(x) && std::isfinite(y)) shown.points.push_back({x, y});
    }
    if (!shown.points.empty()) all.push_back(std::move(shown));
  }
  return all;
}

void DrawTicks(formats::GrayImage& image, const Diagram& d) {
  for (const Tick& tick : TicksOf(d.horizontal)) {
    const int x = static_cast<int>(std::lround(d.X(tick.at)));
    Segment(image, x, d.top, x, d.bottom, 0, tick.text.empty() ? kFaintLine : kLine);
    DrawLabel(image, x - LabelWidth(tick.text, d.text()) / 2.0, d.bottom + d.text() * 0.7,
              tick.text, kInk, d.text());
  }
  for (const Tick& tick : TicksOf(d.vertical)) {
    const int y = static_cast<int>(std::lround(d.Y(tick.at)));
    Segment(image, d.left, y, d.right, y, 0, tick.text.empty() ? kFaintLine : kLine);
    DrawLabel(image, d.left - d.text() * 0.6 - LabelWidth(tick.text, d.text()), y - d.text() / 2,
              tick.text, kInk, d.text());
  }
}

// Of the n-th curve of a diagram. `on` pixels of line, then as many without; 0: no gaps.
struct Stroke {
  int on;
  uint8_t gray;
  int radius;
};
Stroke StrokeOf(size_t n, const Diagram& d) {
  constexpr int kDashes[] = {0, 24, 10, 4};
  return {d.Scaled(kDashes[n % 4]), n < 4 ? kInk : uint8_t{140}, std::max(1, d.Scaled(1))};
}

// A segment with gaps; `done` pixels of the curve lie before it.
void DashedSegment(formats::GrayImage& image, double x0, double y0, double x1, double y1,
                   const Stroke& stroke, double& done) {
  const double length = std::hypot(x1 - x0, y1 - y0);
  const int steps = std::max(1, static_cast<int>(length));
  for (int i = 0; i < steps; ++i) {
    const double a = static_cast<double>(i) / steps, b = static_cast<double>(i + 1) / steps;
    const int at = static_cast<int>(done + a * length);
    if (stroke.on > 0 && at / stroke.on % 2 == 1) continue;
    Segment(image, x0 + a * (x1 - x0), y0 + a * (y1 - y0), x0 + b * (x1 - x0), y0 + b * (y1 - y0),
            stroke.radius, stroke.gray);
  }
  done += length;
}

void DrawPoints(formats::GrayImage& image, const Diagram& d, const Curve& curve,
                const Stroke& stroke) {
  constexpr size_t kManyPoints = 64;  // dots would cover the dashes
  double done = 0;
  for (size_t i = 0; i < curve.points.size(); ++i) {
    const double x = d.X(curve.points[i].x), y = d.Y(curve.points[i].y);
    if (curve.points.size() <= kManyPoints) {
      Dot(image, static_cast<int>(std::lround(x)), static_cast<int>(std::lround(y)), d.Scaled(3),
          stroke.gray);
    }
    if (i == 0) continue;
    const CurvePoint& before = curve.points[i - 1];
    DashedSegment(image, d.X(before.x), d.Y(before.y), x, y, stroke, done);
  }
}

void DrawNames(formats::GrayImage& image, const Diagram& d, std::span<const Curve> curves) {
  const double sample = 4.5 * d.text(), gap = 0.8 * d.text(), row = 1.6 * d.text();
  int widest = 0;
  for (const Curve& curve : curves) widest = std::max(widest, LabelWidth(curve.name, d.text()));
  double y = d.top + gap;
  for (size_t n = 0; n < curves.size(); ++n, y += row) {
    const double x = d.right - gap - widest, middle = y + d.text() / 2;
    double done = 0;
    DashedSegment(image, x - gap - sample, middle, x - gap, middle, StrokeOf(n, d), done);
    DrawLabel(image, x, y, curves[n].name, kInk, d.text());
  }
}

}  // namespace

void DrawCurves(formats::GrayImage& image, const PlotArea& area, const PlotAxes& axes,
                std::span<const Curve> curves) {
  const std::vector<Curve> shown = Shown(axes, curves);
  Diagram d{.unit = std::min(area.width / kWidth, area.height / kHeight)};
  d.left = area.x + d.Scaled(kLeft);
  d.right = area.x + area.width - d.Scaled(kRight);
  d.top = area.y + d.Scaled(kTop);
  d.bottom = area.y + area.height - d.Scaled(kBottom);
  DrawLabel(image, d.left, area.y + 0.7 * d.text(), axes.title, kInk, d.text());
  DrawLabel(image, (d.left + d.right - LabelWidth(axes.x_label, d.text())) / 2.0,
            area.y + area.height - 1.6 * d.text(), axes.x_label, kInk, d.text());
  if (!shown.empty()) {
    d.horizontal = RangeOf(shown, &CurvePoint::x, axes.logarithmic_x);
    d.vertical = RangeOf(shown, &CurvePoint::y, axes.logarithmic);
    DrawTicks(image, d);
    for (size_t n = 0; n < shown.size(); ++n) DrawPoints(image, d, shown[n], StrokeOf(n, d));
    if (shown.size() > 1) DrawNames(image, d, shown);
  }
  Segment(image, d.left, d.top, d.left, d.bottom, 0, kAxis);
  Segment(image, d.left, d.bottom, d.right, d.bottom, 0, kAxis);
}

void DrawCurve(formats::GrayImage& image, const PlotArea& area, const PlotAxes& axes,
               std::span<const CurvePoint> points) {
  const Curve curve{.name = "", .points = {points.begin(), points.end()}};
  DrawCurves(image, area, axes, {&curve, 1});
}

}  // namespace isocenter::imaging
