// One diagram of a curve, or of several, with axes.
#pragma once

#include <span>
#include <string>
#include <vector>

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
  std::string title;           // above the diagram, with what is drawn upwards
  std::string x_label;         // below it
  bool logarithmic = false;    // upwards; points that are not positive are left out
  bool logarithmic_x = false;  // to the right, the same
};

/// Draws axes, round tick values, their lines, and the points joined by lines. Text and lines grow
/// with the area. Values that are not finite are left out.
void DrawCurve(formats::GrayImage& image, const PlotArea& area, const PlotAxes& axes,
               std::span<const CurvePoint> points);

/// A curve among others.
struct Curve {
  std::string name;
  std::vector<CurvePoint> points;
};

/// The same for several curves, told apart by the lengths of their dashes, with their names in the
/// upper right corner. Those beyond the fourth repeat the dashes in a lighter gray.
void DrawCurves(formats::GrayImage& image, const PlotArea& area, const PlotAxes& axes,
                std::span<const Curve> curves);

}  // namespace isocenter::imaging
