// How an iterative reconstruction converged, as a table or a picture.
#pragma once

#include <filesystem>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "client/formats/png_image.h"

namespace isocenter::imaging {

struct ConvergencePoint {
  int iteration = 0;
  double relative_residual = 0;
  std::optional<double> objective;
  double seconds = 0;
};

/// Residual over iterations on a logarithmic axis and, where there is an objective, a second panel
/// with it on a linear one.
formats::GrayImage PlotConvergence(std::span<const ConvergencePoint> points);

/// Writes `path`, by its ending: .csv (a heading, then a line for each point) or .png. Errors:
/// INVALID_ARGUMENT (another ending, no points), those of writing files.
absl::Status WriteConvergence(const std::filesystem::path& path,
                              std::span<const ConvergencePoint> points);

}  // namespace isocenter::imaging
