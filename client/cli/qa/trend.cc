#include "client/cli/qa/trend.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/output/json_output.h"
#include "client/cli/output/table.h"
#include "kernels/quality/constancy.h"
#include "proto/wire/calibration.h"
#include "proto/wire/quality_conditions.h"

namespace isocenter::cli {
namespace {

constexpr double kWatchShare = 2.0 / 3;
constexpr int kLeastForDrift = 5;
constexpr double kLeastDaysForDrift = 7;
constexpr double kDaysOfDrift = 30;
constexpr double kMostDaysAhead = 3650;

/// A result, and what is known of its scan.
struct Test {
  const v1::QualityResult* result;
  std::vector<quality::Measure> measures;
  quality::Conditions conditions;
  absl::Time time;
  bool by_record_time = false;
  std::vector<quality::ConditionChange> changes;  // from the baseline's
};

Test TestOf(const v1::QualityResult& result, const ScansByJob& scans) {
  Test test{.result = &result};
  for (const v1::QualityMeasure& measure : result.measure()) {
    test.measures.push_back({measure.name(), measure.value(), measure.tolerance()});
  }
  if (result.has_conditions()) {
    test.conditions = wire::ConditionsFromProto(result.conditions());
  } else if (const auto scan = scans.find(result.job_id()); scan != scans.end()) {
    test.conditions = scan->second;
  }
  test.by_record_time = test.conditions.acquired == absl::InfinitePast();
  test.time =
      test.by_record_time ? wire::TimeFromProto(result.record_time()) : test.conditions.acquired;
  return test;
}

bool IsComparable(const Test& test, const std::string& figure) {
  return std::ranges::none_of(test.changes, [&](const quality::ConditionChange& change) {
    return quality::DependsOn(figure, change.what);
  });
}

std::optional<double> ValueOf(const v1::QualityResult& result, const std::string& name) {
  for (const v1::QualityMeasure& measure : result.measure()) {
    if (measure.name() == name) return measure.value();
  }
  return std::nullopt;
}

struct Point {
  double days = 0;  // since the baseline
  double value = 0;
};

/// The line through the points, where it is more than noise: slope per day, and where it is at the
/// last point.
std::optional<std::pair<double, double>> LineThrough(const std::vector<Point>& points) {
  const double n = static_cast<double>(points.size());
  if (points.size() < kLeastForDrift ||
      points.back().days - points.front().days < kLeastDaysForDrift) {
    return std::nullopt;
  }
  double x = 0, y = 0;
  for (const Point& point : points) {
    x += point.days / n;
    y += point.value / n;
  }
  double xx = 0, xy = 0;
  for (const Point& point : points) {
    xx += (point.days - x) * (point.days - x);
    xy += (point.days - x) * (point.value - y);
  }
  if (!(xx > 0)) return std::nullopt;
  const double slope = xy / xx;
  double residual = 0;
  for (const Point& point : points) {
    const double off = point.value - y - slope * (point.days - x);
    residual += off * off;
  }
  const double error = std::sqrt(residual / (n - 2) / xx);
  if (!(std::abs(slope) > 2 * error)) return std::nullopt;
  return std::pair(slope, y + slope * (points.back().days - x));
}

/// Days from the last point until the line leaves the tolerance.
std::optional<double> DaysUntilOut(double slope, double at_last, const FigureTrend& figure) {
  const double edge = figure.baseline + std::copysign(figure.tolerance, slope);
  const double days = (edge - at_last) / slope;
  if (!(days <= kMostDaysAhead)) return std::nullopt;
  return std::max(0.0, days);
}

FigureTrend FigureOf(const v1::QualityMeasure& of_baseline, const std::vector<Test>& oldest_first) {
  FigureTrend figure{.name = of_baseline.name(),
                     .baseline = of_baseline.value(),
                     .tolerance = of_baseline.tolerance()};
  const absl::Time begin = oldest_first.front().time;
  std::vector<Point> points;
  for (const Test& test : oldest_first) {
    if (!IsComparable(test, figure.name)) continue;
    if (const auto value = ValueOf(*test.result, figure.name)) {
      points.push_back({absl::ToDoubleHours(test.time - begin) / 24, *value});
    }
  }
  figure.latest = ValueOf(*oldest_first.back().result, figure.name);
  figure.tests = static_cast<int>(points.size());
  for (const Point& point : points) figure.mean += point.value / figure.tests;
  for (const Point& point : points) {
    figure.sd += (point.value - figure.mean) * (point.value - figure.mean);
  }
  figure.sd = points.size() > 1 ? std::sqrt(figure.sd / (figure.tests - 1)) : 0;
  if (const auto line = LineThrough(points)) {
    figure.drift = line->first * kDaysOfDrift;
    if (const auto days = DaysUntilOut(line->first, line->second, figure)) {
      figure.leaves = begin + absl::Hours((points.back().days + *days) * 24);
    }
  }
  const double share = figure.share();
  const bool is_judged =
      quality::WhyNotJudged({figure.name, figure.baseline, figure.tolerance}).empty();
  figure.level = !is_judged                                        ? ConstancyLevel::kNotJudged
                 : !IsComparable(oldest_first.back(), figure.name) ? ConstancyLevel::kNotComparable
                 : !figure.latest || share > 1                     ? ConstancyLevel::kAction
                 : share > kWatchShare                             ? ConstancyLevel::kWatch
                                                                   : ConstancyLevel::kWithin;
  return figure;
}

/// `of_room`: newest first, with a baseline among them.
RoomTrend TrendOf(const v1::QualityResult& baseline,
                  const std::vector<const v1::QualityResult*>& of_room, const ScansByJob& scans) {
  std::vector<Test> counted = {TestOf(baseline, scans)};
  const Test first = counted.front();
  RoomTrend room{.station = baseline.station_name(),
                 .protocol = baseline.protocol(),
                 .phantom = baseline.phantom(),
                 .baseline_id = baseline.id(),
                 .baseline_time = first.time};
  for (const v1::QualityResult* result : of_room) {
    if (result == &baseline || result->phantom() != baseline.phantom()) continue;
    Test test = TestOf(*result, scans);
    // Of a scan whose time is not known its record must be the later one.
    const bool is_later = test.time >= first.time &&
                          (!test.by_record_time || wire::TimeFromProto(result->record_time()) >=
                                                       wire::TimeFromProto(baseline.record_time()));
    if (!is_later) continue;
    const bool is_known = std::ranges::any_of(counted, [&](const Test& other) {
      return (!result->job_id().empty() && other.result->job_id() == result->job_id()) ||
             !quality::WhySameScan(other.conditions, other.measures, test.conditions, test.measures)
                  .empty();
    });
    if (is_known) {
      ++room.same_scan;
      continue;
    }
    test.changes = quality::Changes(first.conditions, test.conditions);
    counted.push_back(std::move(test));
  }
  std::stable_sort(counted.begin() + 1, counted.end(), [](const Test& a, const Test& b) {
    return std::pair(a.time, a.result->id()) < std::pair(b.time, b.result->id());
  });
  room.latest_id = counted.back().result->id();
  room.latest_time = counted.back().time;
  room.tests = static_cast<int>(counted.size());
  room.by_record_time = static_cast<int>(std::ranges::count_if(counted, &Test::by_record_time));
  for (const quality::ConditionChange& change : counted.back().changes) {
    room.changes.push_back(change.text);
  }
  for (const v1::QualityMeasure& measure : baseline.measure()) {
    room.figures.push_back(FigureOf(measure, counted));
  }
  return room;
}

std::string Day(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d", time, absl::LocalTimeZone());
}

std::string JsonTimeOf(absl::Time time) {
  google::protobuf::Timestamp proto;
  proto.set_seconds(absl::ToUnixSeconds(time));
  return JsonTime(proto);
}

}  // namespace

std::string LevelName(ConstancyLevel level) {
  switch (level) {
    case ConstancyLevel::kNotJudged:
      return "not judged";
    case ConstancyLevel::kWithin:
      return "within";
    case ConstancyLevel::kWatch:
      return "watch";
    case ConstancyLevel::kNotComparable:
      return "not comparable";
    case ConstancyLevel::kAction:
      break;
  }
  return "action";
}

double FigureTrend::share() const {
  if (!latest || !(tolerance > 0)) return 0;
  return std::abs(*latest - baseline) / tolerance;
}

ConstancyLevel RoomTrend::level() const {
  ConstancyLevel worst = ConstancyLevel::kNotJudged;
  for (const FigureTrend& figure : figures) worst = std::max(worst, figure.level);
  return worst;
}

std::vector<RoomTrend> TrendsOf(
    const google::protobuf::RepeatedPtrField<v1::QualityResult>& results, const ScansByJob& scans) {
  std::map<std::pair<std::string, std::string>, std::vector<const v1::QualityResult*>> rooms;
  for (const v1::QualityResult& result : results) {
    rooms[{result.station_name(), result.protocol()}].push_back(&result);
  }
  std::vector<RoomTrend> trends;
  for (const auto& [name, of_room] : rooms) {
    const auto baseline = std::ranges::find_if(
        of_room, [](const v1::QualityResult* result) { return result->baseline(); });
    if (baseline != of_room.end()) trends.push_back(TrendOf(**baseline, of_room, scans));
  }
  return trends;
}

std::string TrendTable(const std::vector<RoomTrend>& rooms, const std::string& only) {
  std::vector<TableRow> rows = {{"STATION", "PROTOCOL", "FIGURE", "BASELINE", "TOLERANCE", "TESTS",
                                 "LATEST", "% OF TOLERANCE", "MEAN", "SD", "DRIFT/30 D", "LEAVES",
                                 "LEVEL"}};
  for (const RoomTrend& room : rooms) {
    for (const FigureTrend& figure : room.figures) {
      if (!only.empty() && figure.name != only) continue;
      rows.push_back({room.station, room.protocol, figure.name,
                      absl::StrFormat("%.5g", figure.baseline),
                      absl::StrFormat("%.3g", figure.tolerance), absl::StrCat(figure.tests),
                      figure.latest ? absl::StrFormat("%.5g", *figure.latest) : "not measured",
                      figure.latest ? absl::StrFormat("%.0f", 100 * figure.share()) : "-",
                      absl::StrFormat("%.5g", figure.mean), absl::StrFormat("%.2g", figure.sd),
                      figure.drift ? absl::StrFormat("%+.2g", *figure.drift) : "-",
                      figure.leaves ? Day(*figure.leaves) : "-", LevelName(figure.level)});
    }
  }
  return FormatTable(rows);
}

nlohmann::ordered_json ToJson(const RoomTrend& room, const std::string& only) {
  nlohmann::ordered_json json = {{"station_name", room.station},
                                 {"protocol", room.protocol},
                                 {"phantom", room.phantom},
                                 {"baseline_id", room.baseline_id},
                                 {"baseline_time", JsonTimeOf(room.baseline_time)},
                                 {"latest_id", room.latest_id},
                                 {"latest_time", JsonTimeOf(room.latest_time)},
                                 {"tests", room.tests},
                                 {"tests_by_record_time", room.by_record_time},
                                 {"same_scan_left_out", room.same_scan},
                                 {"changed_conditions", room.changes},
                                 {"level", LevelName(room.level())}};
  json["figures"] = nlohmann::ordered_json::array();
  for (const FigureTrend& figure : room.figures) {
    if (!only.empty() && figure.name != only) continue;
    nlohmann::ordered_json entry = {{"name", figure.name},
                                    {"baseline", figure.baseline},
                                    {"tolerance", figure.tolerance},
                                    {"tests", figure.tests},
                                    {"mean", figure.mean},
                                    {"sd", figure.sd},
                                    {"level", LevelName(figure.level)}};
    if (figure.latest) {
      entry["latest"] = *figure.latest;
      entry["share_of_tolerance"] = figure.share();
    }
    if (figure.drift) entry["drift_per_30_days"] = *figure.drift;
    if (figure.leaves) entry["leaves_time"] = JsonTimeOf(*figure.leaves);
    json["figures"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace isocenter::cli
