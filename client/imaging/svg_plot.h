// Curves as SVG, for reports that are one HTML file.
#pragma once

#include <string>
#include <vector>

namespace isocenter::imaging {

/// Text that stands in HTML or SVG.
std::string EscapeMarkup(const std::string& text);

struct PlotSeries {
  std::string label;
  std::vector<double> x{}, y{};  // as many of both; points that are not finite are left out
  bool dots = false;             // and no line
  bool dashed = false;
};

struct SvgPlot {
  std::string title, x_label, y_label;
  std::vector<PlotSeries> series{};
  bool from_zero = true;  // the y axis
};

/// An <svg> element of its own size, with axes from tick to tick and, below them, a legend of the
/// series that have a label. Without any point: axes of 0 to 1.
std::string RenderSvg(const SvgPlot& plot);

}  // namespace isocenter::imaging
