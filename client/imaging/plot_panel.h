// One diagram of a curve with axes.
#pragma once

#include <span>
#include <string>

#include "client/formats/png_image.h"

namespace isocenter::imaging {

/// A rectangle of an image.
struct PlotArea {
  int x = 0, y = 0, width = 0, height = 0;
};

struct CurvePoint {
  double x = 0, y = 0;
};

struct PlotAxes {
  std::string title;         // above the diagram, with what is drawn upwards
  std::string x_label;       // below it
  bool logarithmic = false;  // upwards; points that are not positive are left out
};

/// Draws axes, round tick values, their lines, and the points joined by lines. Values that are not
/// finite are left out.
void DrawCurve(formats::GrayImage& image, const PlotArea& area, const PlotAxes& axes,
               std::span<const CurvePoint> points);

}  // namespace isocenter::imaging
