// The iterations of a refinement, as they come.
#pragma once

#include <cstdio>
#include <string>

#include "isocenter/v1/jobs.pb.h"

namespace isocenter::cli {

/// "iteration 3/10  residual 0.012345  objective 17.25  4.2 s".
std::string IterationLine(const v1::IterationReport& report, uint32_t iterations_total);

/// What the columns of the lines mean, for those who read them for the first time.
inline constexpr char kIterationTerms[] =
    "residual: the share of the measured line integrals that the volume does not explain yet, from "
    "1 to 0;\nobjective: what the algorithm makes smaller, comparable within one job only\n";

/// Prints each iteration once, with kIterationTerms before the first. Not thread-safe.
class IterationPrinter {
 public:
  explicit IterationPrinter(std::FILE* file) : file_(file) {}

  /// What the job has beyond what was printed. A refinement that began again is printed again.
  void Print(const v1::Job& job);

 private:
  std::FILE* const file_;
  int printed_ = 0;
  bool explained_ = false;
};

}  // namespace isocenter::cli
