// A constancy test: what was measured, against what was measured when the scanner was accepted.
#pragma once

#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/quality/phantom_study.h"

namespace isocenter::quality {

/// A figure that is followed.
struct Measure {
  std::string name;  // a-z, 0-9, _, - and .; ends with its unit where it has one
  double value = 0;
  /// As a baseline: how far a later value may be from this one.
  double tolerance = 0;
};

inline constexpr int kMostMeasures = 64;
inline constexpr size_t kLongestMeasureName = 48;

/// The figures of a study, with the tolerances of docs/qa.md.
std::vector<Measure> MeasuresOf(const PhantomStudy& study);

/// INVALID_ARGUMENT with the value and what is legal: 1 to kMostMeasures measures, each name once,
/// values that are finite, tolerances above 0.
absl::Status CheckMeasures(std::span<const Measure> measures);

struct Verdict {
  std::string name;
  std::optional<double> value{};  // empty: it was not measured
  double baseline = 0, tolerance = 0;
  /// Why the value says nothing of the baseline's: other conditions. Empty: it is comparable.
  std::string not_comparable{};

  /// In units of the tolerance; 0 where nothing was measured.
  double deviation() const { return value ? (*value - baseline) / tolerance : 0; }
  bool passed() const {
    return not_comparable.empty() && value && std::abs(*value - baseline) <= tolerance;
  }
};

/// Why a measure of a baseline cannot be judged, as a sentence's end; empty: it can. A contrast to
/// noise of less than twice its own tolerance would pass where a disc has lost half of it.
std::string WhyNotJudged(const Measure& baseline);

/// A verdict on each measure of the baseline that can be judged, in its order. Both have been
/// checked.
std::vector<Verdict> Compare(std::span<const Measure> baseline, std::span<const Measure> measures);
/// Names of measures that the baseline does not have, so that none is judged: it was made before
/// they were measured.
std::vector<std::string> NotInBaseline(std::span<const Measure> baseline,
                                       std::span<const Measure> measures);
/// Whether there is one, and all are passed.
bool Passed(std::span<const Verdict> verdicts);

/// A tolerance as people write it.
struct NamedTolerance {
  std::string name;
  double value = 0;
  bool percent = false;  // of the measure's value
};
/// Of "name=value" or "name=N%". Errors: INVALID_ARGUMENT.
absl::StatusOr<NamedTolerance> ParseTolerance(absl::string_view text);

/// "name=value", or "name=N%" of the measure's value: another tolerance. Errors: INVALID_ARGUMENT
/// for a text that is none, NOT_FOUND for a measure that is not there.
absl::Status SetTolerance(const std::string& text, std::vector<Measure>& measures);

}  // namespace isocenter::quality
