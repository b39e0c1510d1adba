// What a picture has to be read by: how long things are in it, and what its greys mean.
#pragma once

#include <string>

#include "client/formats/png_image.h"
#include "client/imaging/planes.h"

namespace isocenter::imaging {

/// The longest of 1, 2 and 5 times a power of ten that is at most `most_mm`, above 0.
double ScaleBarMm(double most_mm);

/// Draws a bar of `mm` with its length beside it, `text` pixels high, and returns where it ends.
/// (x, y): upper left corner.
int DrawScaleBar(formats::GrayImage& image, int x, int y, double mm, double pixel_mm, uint8_t ink,
                 int text);

/// Writes what is at the sides of a plane around it, a third of `text` away. (x, y): its upper left
/// corner.
void DrawSides(formats::GrayImage& image, int x, int y, int width, int height,
               const PlaneSides& sides, uint8_t ink, int text);

/// Draws greys from black to white between the values of both, and returns where that ends. (x, y)
/// and `text` as of DrawScaleBar.
int DrawGrayBar(formats::GrayImage& image, int x, int y, const std::string& low,
                const std::string& high, uint8_t ink, int text);
/// Draws the greys of a window from black to white between the HU of its ends, and returns where
/// that ends. (x, y) and `text` as of DrawScaleBar.
int DrawGrayBar(formats::GrayImage& image, int x, int y, const Window& window, uint8_t ink,
                int text);
/// Of DrawGrayBar.
int GrayBarWidth(const Window& window, int text);

}  // namespace isocenter::imaging
