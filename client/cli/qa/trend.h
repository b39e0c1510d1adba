// How the figures of a room's constancy tests have gone since its baseline.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "isocenter/v1/quality.pb.h"
#include "kernels/quality/conditions.h"

namespace isocenter::cli {

/// What is to be done about a figure: nothing can be said, since its baseline would let a worst
/// case pass (quality::WhyNotJudged); nothing; look at it again soon, from two thirds of the
/// tolerance on; scan again under the baseline's conditions, since the figure depends on one that
/// is another; correct its cause before patients are scanned, beyond the tolerance or when it could
/// not be measured.
enum class ConstancyLevel { kNotJudged, kWithin, kWatch, kNotComparable, kAction };
std::string LevelName(ConstancyLevel level);

/// Of one figure; all in its unit.
struct FigureTrend {
  std::string name;
  double baseline = 0, tolerance = 0;
  std::optional<double> latest;  // none: the last test did not measure it
  int tests = 0;                 // that measured it comparably, the baseline included
  double mean = 0, sd = 0;       // of these; the deviation is 0 of one
  /// The line through them (least squares over their times), per 30 days. None of fewer than five
  /// tests or a week (tests of one morning differ by how the phantom lies), or where it is less
  /// than twice its standard error: it would tell of noise.
  std::optional<double> drift;
  /// When that line leaves the tolerance; none where it does not within ten years.
  std::optional<absl::Time> leaves;
  ConstancyLevel level = ConstancyLevel::kWithin;

  /// Distance of the last test from the baseline, in tolerances.
  double share() const;
};

/// One room and protocol.
struct RoomTrend {
  std::string station, protocol, phantom;
  std::string baseline_id, latest_id;
  absl::Time baseline_time, latest_time;  // of acquisition where that is known
  int tests = 0;                          // since the baseline, which counts
  int by_record_time = 0;  // of these, those whose time is that of the record: their job is gone
  int same_scan = 0;       // left out: records of a scan that counts already
  std::vector<std::string> changes;  // conditions of the last test that the baseline did not have
  std::vector<FigureTrend> figures;

  ConstancyLevel level() const;
};

/// How the scans of results were made that were recorded before results told it, by job; of a
/// refinement with the acquisition's time.
using ScansByJob = std::map<std::string, quality::Conditions>;

/// Of every room and protocol with a baseline among the results, by name. Counted are results of
/// the baseline's phantom that are not older than it, each scan once: of several records the
/// newest, and the baseline's own scan as the baseline alone.
std::vector<RoomTrend> TrendsOf(
    const google::protobuf::RepeatedPtrField<v1::QualityResult>& results,
    const ScansByJob& scans = {});

/// A row for each figure; `only`: of this figure alone, unless it is empty.
std::string TrendTable(const std::vector<RoomTrend>& rooms, const std::string& only);
nlohmann::ordered_json ToJson(const RoomTrend& room, const std::string& only);

}  // namespace isocenter::cli
