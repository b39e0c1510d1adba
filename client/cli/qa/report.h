// What isocenter qa has measured, as one HTML file with pictures.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "kernels/quality/conditions.h"
#include "kernels/quality/limits.h"

namespace isocenter::cli {

struct Report {
  std::string volume;  // its name
  absl::Time made;
  std::string version;  // of the program
  std::string comment;  // beside the figures; empty: none
  quality::Conditions conditions;
  quality::VolumeView view;
  const QualityPhantom& phantom;
  const quality::PhantomStudy& study;
  const std::vector<quality::Measure>& measures;
  const std::vector<quality::Verdict>& verdicts;     // empty: there is no baseline
  const std::vector<quality::LimitVerdict>& limits;  // empty: there are none
  /// Names of figures that no baseline of such a value can judge, and why.
  const std::vector<std::pair<std::string, std::string>>& not_judged;
};

/// Nothing of it is loaded from elsewhere. Errors: those of EncodePng.
absl::StatusOr<std::string> RenderReport(const Report& report);

}  // namespace isocenter::cli
