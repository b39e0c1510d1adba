// Several planes with labels in one image.
#pragma once

#include <string>
#include <vector>

#include "client/formats/png_image.h"
#include "client/imaging/planes.h"

namespace isocenter::imaging {

/// One row of the sheet: a volume in its window, all three planes.
struct SheetRow {
  std::string label;
  const formats::Volume* volume = nullptr;  // all rows have the same grid
  Window window;
  std::string source;  // where it is from, e.g. a file's name; empty: not told
};

/// Rows from the top, columns axial, coronal and sagittal through `at`. Pixels are square and of
/// the same size everywhere. Around each plane are the letters of SidesOf, above it what its greys
/// mean; below all rows is a scale bar with the size of the voxels.
formats::GrayImage RenderSheet(const std::vector<SheetRow>& rows, const SliceIndex& at);

}  // namespace isocenter::imaging
