#include "client/imaging/svg_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace isocenter::imaging {
namespace {

constexpr double kWidth = 460, kHeight = 280, kLeft = 64, kRight = 12, kTop = 28, kBottom = 44;
constexpr const char* kColours[] = {"#1f6fb2", "#c4541d", "#2a8a4a", "#8a4fb0", "#b0892a"};

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void Take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  /// A range with a length, whatever was taken.
  void Complete() {
    if (!(low <= high)) *this = {0, 1};
    if (low == high) high = low + std::max(1e-9, 0.1 * std::abs(low));
  }
};

// 1, 2 or 5 times a power of ten, some five of them in the range.
double StepOf(const Range& range) {
  const double rough = (range.high - range.low) / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

class Canvas {
 public:
  Canvas(const Range& x, const Range& y) : x_(x), y_(y) {}
  double X(double value) const {
    return kLeft + (value - x_.low) / (x_.high - x_.low) * (kWidth - kLeft - kRight);
  }
  double Y(double value) const {
    return kHeight - kBottom - (value - y_.low) / (y_.high - y_.low) * (kHeight - kTop - kBottom);
  }

  std::string Axes() const {
    std::string out;
    const double x_step = StepOf(x_), y_step = StepOf(y_);
    for (double at = std::ceil(x_.low / x_step) * x_step; at <= x_.high * (1 + 1e-9);
         at += x_step) {
      absl::StrAppendFormat(&out,
                            "<line class=\"grid\" x1=\"%.1f\" y1=\"%g\" x2=\"%.1f\" y2=\"%g\"/>"
                            "<text x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">%.4g</text>",
                            X(at), kTop, X(at), kHeight - kBottom, X(at), kHeight - kBottom + 14,
                            std::abs(at) < 1e-9 * x_step ? 0 : at);
    }
    for (double at = std::ceil(y_.low / y_step) * y_step; at <= y_.high + 1e-9 * y_step;
         at += y_step) {
      absl::StrAppendFormat(&out,
                            "<line class=\"grid\" x1=\"%g\" y1=\"%.1f\" x2=\"%g\" y2=\"%.1f\"/>"
                            "<text x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%.4g</text>",
                            kLeft, Y(at), kWidth - kRight, Y(at), kLeft - 4, Y(at) + 4,
                            std::abs(at) < 1e-9 * y_step ? 0 : at);
    }
    return out;
  }

  std::string Curve(const PlotSeries& series, const char* colour) const {
    std::string points, dots;
    for (size_t i = 0; i < series.x.size() && i < series.y.size(); ++i) {
      if (!std::isfinite(series.x[i]) || !std::isfinite(series.y[i])) continue;
      const double x = X(series.x[i]), y = Y(series.y[i]);
      absl::StrAppendFormat(&points, "%.1f,%.1f ", x, y);
      absl::StrAppendFormat(&dots, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>", x, y,
                            colour);
    }
    if (series.dots) return dots;
    return absl::StrFormat(
        "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\" points=\"%s\"/>", colour,
        points);
  }

 private:
  const Range x_, y_;
};

}  // namespace

std::string EscapeMarkup(const std::string& text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string RenderSvg(const SvgPlot& plot) {
  Range x, y;
  for (const PlotSeries& series : plot.series) {
    for (size_t i = 0; i < series.x.size() && i < series.y.size(); ++i) {
      if (!std::isfinite(series.x[i]) || !std::isfinite(series.y[i])) continue;
      x.Take(series.x[i]);
      y.Take(series.y[i]);
    }
  }
  x.Complete();
  if (plot.from_zero) y.Take(0);
  y.Complete();
  const Canvas canvas(x, y);
  std::string out = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" width=\"%g\" height=\"%g\" "
      "viewBox=\"0 0 %g %g\" role=\"img\"><title>%s</title><text class=\"title\" x=\"%g\" "
      "y=\"16\">%s</text>%s",
      kWidth, kHeight, kWidth, kHeight, EscapeMarkup(plot.title), kLeft, EscapeMarkup(plot.title),
      canvas.Axes());
  for (size_t i = 0; i < plot.series.size(); ++i) {
    const char* colour = kColours[i % std::size(kColours)];
    out += canvas.Curve(plot.series[i], colour);
    absl::StrAppendFormat(&out, "<text x=\"%g\" y=\"%g\" text-anchor=\"end\" fill=\"%s\">%s</text>",
                          kWidth - kRight - 4, kTop + 14.0 * (static_cast<double>(i) + 1), colour,
                          EscapeMarkup(plot.series[i].label));
  }
  absl::StrAppendFormat(&out,
                        "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">%s</text>"
                        "<text transform=\"translate(13 %g) rotate(-90)\" "
                        "text-anchor=\"middle\">%s</text></svg>\n",
                        0.5 * (kLeft + kWidth - kRight), kHeight - 8, EscapeMarkup(plot.x_label),
                        0.5 * (kTop + kHeight - kBottom), EscapeMarkup(plot.y_label));
  return out;
}

}  // namespace isocenter::imaging
