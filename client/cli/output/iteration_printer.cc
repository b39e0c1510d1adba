#include "client/cli/output/iteration_printer.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_format.h"

namespace isocenter::cli {

std::string IterationLine(const v1::IterationReport& report, uint32_t iterations_total) {
  std::string line = absl::StrFormat("iteration %d/%d  residual %.6g", report.iteration(),
                                     iterations_total, report.relative_residual());
  if (report.has_objective()) absl::StrAppendFormat(&line, "  objective %.6g", report.objective());
  absl::StrAppendFormat(&line, "  %.1f s", report.seconds());
  return line;
}

void IterationPrinter::Print(const v1::Job& job) {
  printed_ = std::min(printed_, job.iteration_size());
  for (; printed_ < job.iteration_size(); ++printed_) {
    if (!explained_) std::fputs(kIterationTerms, file_);
    explained_ = true;
    std::fprintf(file_, "%s\n",
                 IterationLine(job.iteration(printed_), job.progress().iterations_total()).c_str());
  }
  std::fflush(file_);
}

}  // namespace isocenter::cli
