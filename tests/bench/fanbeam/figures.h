// Tables and pictures as files.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/imaging/plot_panel.h"

namespace isocenter::bench {

/// A table that is printed, and written as .csv where there is a directory.
class FigureTable {
 public:
  explicit FigureTable(std::vector<std::string> columns);
  void Add(std::vector<std::string> row);
  void Print(const std::string& title) const;
  /// DIRECTORY/NAME.csv; nothing without a directory. Errors: UNAVAILABLE.
  absl::Status Write(const std::string& directory, const std::string& name) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// DIRECTORY/NAME.png of an image of `width` pixels per row, the first row at the bottom; values
/// from `black` to `white`. Small images are magnified. Nothing without a directory. Errors: those
/// of writing files.
absl::Status WritePicture(const std::string& directory, const std::string& name,
                          std::span<const float> values, int width, double black, double white);

/// DIRECTORY/NAME.png with one curve.
absl::Status WriteCurve(const std::string& directory, const std::string& name,
                        const imaging::PlotAxes& axes,
                        const std::vector<imaging::CurvePoint>& points);
/// The same with several.
absl::Status WriteCurves(const std::string& directory, const std::string& name,
                         const imaging::PlotAxes& axes, const std::vector<imaging::Curve>& curves);

/// Makes the directory and what is above it; nothing where it is empty. Errors: UNAVAILABLE.
absl::Status MakeFigureDirectory(const std::string& directory);

}  // namespace isocenter::bench
