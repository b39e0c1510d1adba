#include "client/cli/output/convergence_file.h"

#include <vector>

#include "client/formats/destination.h"
#include "client/imaging/convergence_plot.h"

namespace isocenter::cli {

absl::Status CheckConvergenceFile(const std::string& path) {
  return formats::CheckFileDestination(
      {.flag = "--curve", .path = path, .endings = {".csv", ".png"}});
}

absl::Status WriteConvergence(const v1::Job& job, const std::string& path) {
  std::vector<imaging::ConvergencePoint> points;
  for (const v1::IterationReport& report : job.iteration()) {
    imaging::ConvergencePoint& point = points.emplace_back();
    point.iteration = static_cast<int>(report.iteration());
    point.relative_residual = report.relative_residual();
    if (report.has_objective()) point.objective = report.objective();
    point.seconds = report.seconds();
  }
  return imaging::WriteConvergence(path, points);
}

}  // namespace isocenter::cli
