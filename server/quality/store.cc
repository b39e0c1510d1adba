#include "server/quality/store.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "kernels/base/status_macros.h"
#include "kernels/quality/constancy.h"
#include "proto/wire/calibration.h"
#include "proto/wire/quality_conditions.h"
#include "server/quality/record_file.h"
#include "server/storage/files.h"

namespace isocenter::quality_records {
namespace {

namespace fs = std::filesystem;

constexpr char kEnding[] = ".isoqual", kMark[] = ".baseline", kStaged[] = ".part",
               kDamaged[] = ".damaged";

std::vector<quality::Measure> MeasuresOf(const v1::QualityResult& result) {
  std::vector<quality::Measure> measures;
  for (const v1::QualityMeasure& measure : result.measure()) {
    measures.push_back({measure.name(), measure.value(), measure.tolerance()});
  }
  return measures;
}

v1::QualityVerdict ToProto(const quality::Verdict& verdict) {
  v1::QualityVerdict proto;
  proto.set_name(verdict.name);
  if (verdict.value) proto.set_value(*verdict.value);
  proto.set_baseline(verdict.baseline);
  proto.set_tolerance(verdict.tolerance);
  proto.set_passed(verdict.passed());
  proto.set_not_comparable(verdict.not_comparable);
  return proto;
}

void AddNotJudged(const std::vector<quality::Measure>& baseline, v1::QualityResult& result) {
  const auto add = [&result](const std::string& name, const std::string& why) {
    v1::QualityNotJudged& each = *result.add_not_judged();
    each.set_name(name);
    each.set_why(why);
  };
  for (const quality::Measure& measure : baseline) {
    if (const std::string why = quality::WhyNotJudged(measure); !why.empty()) {
      add(measure.name, why);
    }
  }
  for (const std::string& name : quality::NotInBaseline(baseline, MeasuresOf(result))) {
    add(name, "the baseline does not have it; one that is made now has it");
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> Store::Open(StoreOptions options) {
  if (mkdir(options.directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return storage::FileError(errno, "create directory", options.directory);
  }
  ISO_RETURN_IF_ERROR(storage::SyncDirectory(options.directory.parent_path()));
  ISO_ASSIGN_OR_RETURN(storage::Lock lock, storage::Lock::OfDirectory(options.directory));
  std::unique_ptr<Store> store(new Store(std::move(options), std::move(lock)));
  ISO_RETURN_IF_ERROR(store->ReadDirectory());
  return store;
}

fs::path Store::FileOf(const std::string& id) const {
  return options_.directory / absl::StrCat(id, kEnding);
}

fs::path Store::MarkOf(const Baseline& baseline) const {
  return options_.directory / absl::StrCat(baseline.id, ".", baseline.set_millis, kMark);
}

absl::Status Store::ReadDirectory() {
  std::error_code error;
  std::vector<fs::path> files, marks, others;
  for (auto it = fs::directory_iterator(options_.directory, error);
       !error && it != fs::directory_iterator(); it.increment(error)) {
    const fs::path ending = it->path().extension();
    if (ending == kEnding) files.push_back(it->path());
    if (ending == kMark) marks.push_back(it->path());
    if (ending == kStaged) others.push_back(it->path());
  }
  if (error) return storage::FileError(error.value(), "list", options_.directory);
  for (const fs::path& unfinished : others) fs::remove(unfinished, error);
  absl::MutexLock lock(&mutex_);
  for (const fs::path& file : files) TakeUp(file);
  for (const fs::path& mark : marks) TakeUpMark(mark);
  return absl::OkStatus();
}

void Store::TakeUp(const fs::path& file) {
  auto result = ReadRecord(file);
  if (result.ok() && result->id() == file.stem().string() &&
      quality::CheckMeasures(MeasuresOf(*result)).ok()) {
    results_[result->id()] = *std::move(result);
    return;
  }
  std::error_code ignored;
  fs::rename(file, absl::StrCat(file.string(), kDamaged), ignored);
  repairs_.push_back(absl::StrCat(
      "set ", file.filename().string(),
      " aside: ", result.ok() ? "it is not what its name says" : result.status().message()));
}

void Store::TakeUpMark(const fs::path& file) {
  const std::vector<std::string> parts = absl::StrSplit(file.stem().string(), '.');
  Baseline mark{.id = parts.front()};
  const auto result = results_.find(mark.id);
  if (parts.size() != 2 || result == results_.end() ||
      !absl::SimpleAtoi(parts[1], &mark.set_millis)) {
    repairs_.push_back(absl::StrCat("ignored the baseline ", file.filename().string(),
                                    ", whose result is not there"));
    return;
  }
  Baseline& known = baselines_[SeriesOf(result->second)];
  // Where a crash has left two, the later one was asked for.
  if (known.id.empty() || known.set_millis < mark.set_millis) std::swap(known, mark);
  std::error_code ignored;
  if (!mark.id.empty()) fs::remove(MarkOf(mark), ignored);
}

const v1::QualityResult* Store::BaselineOf(const Series& series) const {
  const auto baseline = baselines_.find(series);
  if (baseline == baselines_.end()) return nullptr;
  const auto result = results_.find(baseline->second.id);
  return result == results_.end() ? nullptr : &result->second;
}

quality::Conditions Store::ConditionsOf(const v1::QualityResult& result) const {
  // Those of results that were recorded before conditions were kept are their job's.
  quality::Conditions conditions =
      wire::ConditionsFromProto(result.has_conditions() || result.job_id().empty()
                                    ? result.conditions()
                                    : options_.conditions_of_job(result.job_id()));
  // A room's protocol is the name that both are kept under.
  conditions.phantom = result.phantom();
  return conditions;
}

std::vector<quality::Verdict> Store::Verdicts(const v1::QualityResult& baseline,
                                              const v1::QualityResult& result) const {
  std::vector<quality::Verdict> verdicts =
      quality::Compare(MeasuresOf(baseline), MeasuresOf(result));
  quality::MarkNotComparable(quality::Changes(ConditionsOf(baseline), ConditionsOf(result)),
                             verdicts);
  return verdicts;
}

v1::QualityResult Store::Judged(v1::QualityResult result) const {
  const v1::QualityResult* was = BaselineOf(SeriesOf(result));
  if (was == nullptr) return result;
  result.set_baseline(was->id() == result.id());
  AddNotJudged(MeasuresOf(*was), result);
  if (result.baseline()) return result;
  for (const quality::Verdict& verdict : Verdicts(*was, result)) {
    *result.add_verdict() = ToProto(verdict);
  }
  const quality::Conditions before = ConditionsOf(*was), now = ConditionsOf(result);
  for (const quality::ConditionChange& change : quality::Changes(before, now)) {
    result.add_changed_condition(change.text);
  }
  for (const std::string& name : quality::Untold(before, now)) {
    // Results are kept by both.
    if (name != "protocol" && name != "room") result.add_untold_condition(name);
  }
  return result;
}

absl::Status Store::CheckNew(const std::optional<std::string>& replaces, bool is_baseline,
                             v1::QualityResult& result) const {
  const Series series = SeriesOf(result);
  std::set<Series> all = {series};
  for (const auto& [id, other] : results_) all.insert(SeriesOf(other));
  if (static_cast<int>(all.size()) > options_.most_series) {
    return absl::ResourceExhaustedError(absl::StrCat("results are kept of ", all.size() - 1,
                                                     " rooms and protocols; legal is at most ",
                                                     options_.most_series));
  }
  const std::vector<quality::Measure> measures = MeasuresOf(result);
  const quality::Conditions conditions = ConditionsOf(result);
  const v1::QualityResult* baseline = BaselineOf(series);
  if (baseline != nullptr && !is_baseline) {
    ISO_RETURN_IF_ERROR(quality::CheckIsATest(baseline->id(), ConditionsOf(*baseline),
                                              MeasuresOf(*baseline), conditions, measures));
  }
  const std::string present = baseline == nullptr ? "" : baseline->id();
  if (is_baseline && replaces && *replaces != present) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the baseline of ", series.first, ", ", series.second, " is ",
        present.empty() ? "none" : present, ", and replaces_id '", replaces->substr(0, 64),
        "'; legal is the baseline that there is: a new one changes what the room is held against"));
  }
  for (auto other = results_.rbegin(); other != results_.rend(); ++other) {
    if (SeriesOf(other->second) != series || other->second.phantom() != result.phantom()) continue;
    if (quality::WhySameScan(ConditionsOf(other->second), MeasuresOf(other->second), conditions,
                             measures)
            .empty()) {
      continue;
    }
    result.set_same_scan_id(other->first);
    break;
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::QualityResult> Store::Record(v1::QualityResult result,
                                                const std::optional<std::string>& replaces) {
  ISO_RETURN_IF_ERROR(quality::CheckMeasures(MeasuresOf(result)));
  ISO_RETURN_IF_ERROR(wire::CheckConditions(result.conditions()));
  if (!result.job_id().empty()) {
    const v1::QualityConditions of_job = options_.conditions_of_job(result.job_id());
    // What is not known stays unset.
    if (of_job.ByteSizeLong() > 0) result.mutable_conditions()->MergeFrom(of_job);
  }
  absl::MutexLock changing(&changing_);
  const absl::Time now = options_.clock();
  const bool is_baseline = result.baseline();
  wire::SetTime(now, *result.mutable_record_time());
  result.clear_verdict();
  result.clear_not_judged();
  result.clear_baseline();  // which is what the mark says
  {
    absl::MutexLock lock(&mutex_);
    ISO_RETURN_IF_ERROR(CheckNew(replaces, is_baseline, result));
    // Names follow the time, and each other.
    int64_t millis = absl::ToUnixMillis(now);
    do {
      result.set_id(absl::StrFormat("q%013d", millis++));
    } while (results_.contains(result.id()));
  }
  ISO_RETURN_IF_ERROR(WriteRecord(FileOf(result.id()), result));
  {
    absl::MutexLock lock(&mutex_);
    results_[result.id()] = result;
  }
  v1::QualityResult answer = result;
  if (is_baseline) ISO_RETURN_IF_ERROR(Mark(result, answer));
  absl::MutexLock lock(&mutex_);
  Forget();
  return Judged(std::move(answer));
}

absl::Status Store::Mark(const v1::QualityResult& result, v1::QualityResult& answer) {
  const Series series = SeriesOf(result);
  Baseline mark{result.id(), absl::ToUnixMillis(options_.clock())};
  Baseline before;
  {
    absl::MutexLock lock(&mutex_);
    const auto known = baselines_.find(series);
    if (known != baselines_.end()) before = known->second;
    const v1::QualityResult* replaced = BaselineOf(series);
    if (replaced != nullptr && before.id != result.id()) {
      answer.set_replaced_id(before.id);
      for (const quality::Verdict& verdict : Verdicts(*replaced, result)) {
        *answer.add_replaced_verdict() = ToProto(verdict);
      }
    }
  }
  if (before.id == result.id()) return absl::OkStatus();
  // A clock that was set back must not let the older one win.
  mark.set_millis = std::max(mark.set_millis, before.set_millis + 1);
  ISO_ASSIGN_OR_RETURN(storage::OutputFile file, storage::OutputFile::Create(MarkOf(mark)));
  ISO_RETURN_IF_ERROR(file.Sync());
  ISO_RETURN_IF_ERROR(storage::SyncDirectory(options_.directory));
  std::error_code ignored;
  if (!before.id.empty()) fs::remove(MarkOf(before), ignored);
  absl::MutexLock lock(&mutex_);
  baselines_[series] = mark;
  return absl::OkStatus();
}

absl::StatusOr<v1::QualityResult> Store::SetBaseline(const std::string& id) {
  absl::MutexLock changing(&changing_);
  v1::QualityResult result;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = results_.find(id);
    if (found == results_.end()) {
      return absl::NotFoundError(absl::StrCat("the result is '", id.substr(0, 64),
                                              "'; isocenter quality list shows those there are"));
    }
    result = found->second;
  }
  v1::QualityResult answer = result;
  ISO_RETURN_IF_ERROR(Mark(result, answer));
  absl::MutexLock lock(&mutex_);
  return Judged(std::move(answer));
}

void Store::Forget() {
  std::map<Series, std::string> newest;
  for (const auto& [id, result] : results_) newest[SeriesOf(result)] = id;
  for (auto it = results_.begin();
       it != results_.end() && static_cast<int>(results_.size()) > options_.most_results;) {
    const Series series = SeriesOf(it->second);
    const auto baseline = baselines_.find(series);
    if (newest[series] == it->first ||
        (baseline != baselines_.end() && baseline->second.id == it->first)) {
      ++it;
      continue;
    }
    std::error_code ignored;
    fs::remove(FileOf(it->first), ignored);
    it = results_.erase(it);
  }
}

std::vector<v1::QualityResult> Store::List(const std::string& station, const std::string& protocol,
                                           size_t most) const {
  std::vector<v1::QualityResult> found;
  absl::MutexLock lock(&mutex_);
  for (auto it = results_.rbegin(); it != results_.rend() && found.size() < most; ++it) {
    const v1::QualityResult& result = it->second;
    if (!station.empty() && result.station_name() != station) continue;
    if (!protocol.empty() && result.protocol() != protocol) continue;
    found.push_back(Judged(result));
  }
  return found;
}

std::vector<v1::QualityResult> Store::Newest() const {
  std::map<Series, const v1::QualityResult*> newest;
  absl::MutexLock lock(&mutex_);
  for (const auto& [id, result] : results_) newest[SeriesOf(result)] = &result;
  std::vector<v1::QualityResult> found;
  for (const auto& [series, result] : newest) found.push_back(Judged(*result));
  return found;
}

}  // namespace isocenter::quality_records
