#include "client/imaging/svg_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace isocenter::imaging {
namespace {

// Without the legend, whose lines are below.
constexpr double kWidth = 460, kHeight = 280, kLeft = 64, kRight = 20, kTop = 28, kBottom = 44;
constexpr double kLegendLine = 16;
constexpr const char* kColours[] = {"#1f6fb2", "#c4541d", "#2a8a4a", "#8a4fb0", "#b0892a"};

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  double step = 1;  // from tick to tick
  void Take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  /// A range with a length, whatever was taken, that begins and ends at a tick.
  void Complete() {
    if (!(low <= high)) low = 0, high = 1;
    if (low == high) high = low + std::max(1e-9, 0.1 * std::abs(low));
    step = Step();
    low = std::floor(low / step + 1e-9) * step;
    high = std::ceil(high / step - 1e-9) * step;
  }

 private:
  // 1, 2 or 5 times a power of ten, some five of them in the range.
  double Step() const {
    const double rough = (high - low) / 5;
    const double power = std::pow(10, std::floor(std::log10(rough)));
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor * power >= rough) return factor * power;
    }
    return 10 * power;
  }
};

const char* DashesOf(const PlotSeries& series) {
  return series.dashed ? " stroke-dasharray=\"5 4\"" : "";
}

/// A piece of the curve, and its label, around `y`.
std::string LegendLine(const PlotSeries& series, const char* colour, double y) {
  const std::string sample =
      series.dots ? absl::StrFormat("<circle cx=\"%g\" cy=\"%g\" r=\"3\" fill=\"%s\"/>", kLeft + 12,
                                    y, colour)
                  : absl::StrFormat("<path d=\"M%g %gh24\" stroke=\"%s\" stroke-width=\"1.6\"%s/>",
                                    kLeft, y, colour, DashesOf(series));
  return absl::StrFormat("%s<text x=\"%g\" y=\"%g\" fill=\"%s\">%s</text>", sample, kLeft + 32,
                         y + 4, colour, EscapeMarkup(series.label));
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
    for (double at = x_.low; at <= x_.high + 1e-6 * x_.step; at += x_.step) {
      absl::StrAppendFormat(&out,
                            "<line class=\"grid\" x1=\"%.1f\" y1=\"%g\" x2=\"%.1f\" y2=\"%g\"/>"
                            "<text x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">%.4g</text>",
                            X(at), kTop, X(at), kHeight - kBottom, X(at), kHeight - kBottom + 14,
                            std::abs(at) < 1e-6 * x_.step ? 0 : at);
    }
    for (double at = y_.low; at <= y_.high + 1e-6 * y_.step; at += y_.step) {
      absl::StrAppendFormat(&out,
                            "<line class=\"grid\" x1=\"%g\" y1=\"%.1f\" x2=\"%g\" y2=\"%.1f\"/>"
                            "<text x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%.4g</text>",
                            kLeft, Y(at), kWidth - kRight, Y(at), kLeft - 4, Y(at) + 4,
                            std::abs(at) < 1e-6 * y_.step ? 0 : at);
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
        "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\"%s points=\"%s\"/>", colour,
        DashesOf(series), points);
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
  std::string curves, legend;
  double height = kHeight;
  for (size_t i = 0; i < plot.series.size(); ++i) {
    const PlotSeries& series = plot.series[i];
    const char* colour = kColours[i % std::size(kColours)];
    curves += canvas.Curve(series, colour);
    if (series.label.empty()) continue;
    legend += LegendLine(series, colour, height + 4);
    height += kLegendLine;
  }
  std::string out = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" width=\"%g\" height=\"%g\" "
      "viewBox=\"0 0 %g %g\" role=\"img\"><title>%s</title><text class=\"title\" x=\"%g\" "
      "y=\"16\">%s</text>%s%s%s",
      kWidth, height, kWidth, height, EscapeMarkup(plot.title), kLeft, EscapeMarkup(plot.title),
      canvas.Axes(), curves, legend);
  absl::StrAppendFormat(&out,
                        "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">%s</text>"
                        "<text transform=\"translate(13 %g) rotate(-90)\" "
                        "text-anchor=\"middle\">%s</text></svg>\n",
                        0.5 * (kLeft + kWidth - kRight), kHeight - 8, EscapeMarkup(plot.x_label),
                        0.5 * (kTop + kHeight - kBottom), EscapeMarkup(plot.y_label));
  return out;
}

}  // namespace isocenter::imaging
