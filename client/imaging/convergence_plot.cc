#include "client/imaging/convergence_plot.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/formats/file.h"
#include "client/imaging/plot_panel.h"
#include "kernels/base/status_macros.h"

namespace isocenter::imaging {
namespace {

constexpr int kWidth = 900, kPanelHeight = 420;

std::string ToCsv(std::span<const ConvergencePoint> points) {
  std::string text = "iteration,relative_residual,objective,seconds\n";
  for (const ConvergencePoint& point : points) {
    absl::StrAppendFormat(&text, "%d,%.9g,%s,%.6f\n", point.iteration, point.relative_residual,
                          point.objective ? absl::StrFormat("%.9g", *point.objective) : "",
                          point.seconds);
  }
  return text;
}

}  // namespace

formats::GrayImage PlotConvergence(std::span<const ConvergencePoint> points) {
  std::vector<CurvePoint> residual, objective;
  for (const ConvergencePoint& point : points) {
    residual.push_back({static_cast<double>(point.iteration), point.relative_residual});
    if (point.objective) {
      objective.push_back({static_cast<double>(point.iteration), *point.objective});
    }
  }
  const int panels = objective.empty() ? 1 : 2;
  formats::GrayImage image(kWidth, panels * kPanelHeight, 255);
  DrawCurve(image, {.width = kWidth, .height = kPanelHeight},
            {.title = "relative residual: share of the frames that the volume does not explain",
             .x_label = "iteration",
             .logarithmic = true},
            residual);
  if (panels == 2) {
    DrawCurve(image, {.y = kPanelHeight, .width = kWidth, .height = kPanelHeight},
              {.title = "objective", .x_label = "iteration"}, objective);
  }
  return image;
}

absl::Status WriteConvergence(const std::filesystem::path& path,
                              std::span<const ConvergencePoint> points) {
  if (points.empty()) return absl::InvalidArgumentError("there is no iteration to plot");
  if (path.extension() == ".png") return formats::WritePng(path, PlotConvergence(points));
  if (path.extension() != ".csv") {
    return absl::InvalidArgumentError(
        absl::StrCat(path.string(), ": a curve is written as .csv or .png"));
  }
  return formats::WriteText(path, ToCsv(points));
}

}  // namespace isocenter::imaging
