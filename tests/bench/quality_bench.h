// Image quality of the iterative methods beside FDK on the same data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/accuracy/image_quality.h"

namespace isocenter::bench {

struct QualityOptions {
  std::string backend = "cpu";
  int threads = 0;  // 0: all
  quality::ScanOptions scan;
  std::vector<std::string> algorithms;  // empty: all
  /// Replace what the tuned settings have.
  std::optional<int> iterations, early_passes, subsets, tv_steps;
  std::optional<double> relaxation, momentum, prior_strength, huber_delta_per_mm, fdk_cutoff;
  std::optional<std::string> projector;
  bool cold = false;
  bool passes = false;  // print the report of each pass
  std::string sheet;    // PNG file of truth, FDK and all images; empty: none
};

/// Prints a table: error, edge width, and FDK's error at that edge width. Errors: UNAVAILABLE,
/// INVALID_ARGUMENT, those of writing the sheet.
absl::Status RunQuality(const QualityOptions& options);

}  // namespace isocenter::bench
