// The iterations of a refinement, as they come.
#pragma once

#include <string>

#include "isocenter/v1/jobs.pb.h"

namespace isocenter::cli {

/// "iteration 3/10  residual 0.012345  objective 17.25  4.2 s".
std::string IterationLine(const v1::IterationReport& report, uint32_t iterations_total);

/// Prints each iteration once, on stdout. Not thread-safe.
class IterationPrinter {
 public:
  /// What the job has beyond what was printed. A refinement that began again is printed again.
  void Print(const v1::Job& job);

 private:
  int printed_ = 0;
};

}  // namespace isocenter::cli
