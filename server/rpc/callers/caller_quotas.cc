#include "server/rpc/callers/caller_quotas.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "server/base/try_again.h"

namespace isocenter::rpc {
namespace {

// Callers without a call are forgotten when there are more: addresses are cheap.
constexpr size_t kMostCallers = 4096;
// What a caller may save up, in seconds' worth of calls.
constexpr double kLongestCredit = 2;

}  // namespace

CallerQuotas::CallerQuotas(const v1::LimitsConfig& limits, std::function<absl::Time()> clock,
                           OnRefused on_refused)
    : most_calls_(static_cast<int>(limits.calls_per_caller())),
      most_downloads_(static_cast<int>(limits.downloads_per_caller())),
      most_streams_(static_cast<int>(limits.streams_per_caller())),
      streams_of_all_(static_cast<int>(limits.max_active_jobs()) + kSpareStreams),
      calls_per_second_(limits.calls_per_second_per_caller()),
      clock_(std::move(clock)),
      on_refused_(std::move(on_refused)) {}

int CallerQuotas::Use::calls() const { return std::accumulate(open.begin(), open.end(), 0); }

CallerQuotas::Place& CallerQuotas::Place::operator=(Place&& other) noexcept {
  std::swap(quotas_, other.quotas_);
  std::swap(caller_, other.caller_);
  std::swap(kind_, other.kind_);
  return *this;
}

CallerQuotas::Place::~Place() {
  if (quotas_ != nullptr) quotas_->Leave(caller_, kind_);
}

CallerQuotas::Use& CallerQuotas::UseOf(const std::string& caller, absl::Time now) {
  if (callers_.size() >= kMostCallers && !callers_.contains(caller)) {
    std::erase_if(callers_, [](const auto& entry) { return entry.second.calls() == 0; });
  }
  const double most = kLongestCredit * calls_per_second_;
  const auto [entry, is_new] = callers_.try_emplace(caller);
  Use& use = entry->second;
  if (is_new) use = {.credit = most, .since = now};
  // A clock that was set back takes no credit away: a caller would be refused for as long.
  const double seconds = std::max(0.0, absl::ToDoubleSeconds(now - use.since));
  use.credit = std::min(most, use.credit + seconds * calls_per_second_);
  use.since = now;
  return use;
}

absl::Status CallerQuotas::Refuse(const char* quota, const std::string& use_and_limit) const {
  if (on_refused_) on_refused_(quota);
  return FullForNow(use_and_limit);
}

absl::Status CallerQuotas::Check(const std::string& caller, const Use& use, CallKind kind) const {
  const auto refuse = [&](const char* quota, int has, int most) {
    return Refuse(
        quota, absl::StrCat(caller, " has ", has, " ", quota, " at once; legal is at most ", most,
                            "; try again when one has ended"));
  };
  const auto full = [&](const char* quota, int most) {
    return Refuse(quota, absl::StrCat("all callers together have ", most, " ", quota,
                                      " at once; legal is at most that; try again when one has "
                                      "ended"));
  };
  const auto index = static_cast<size_t>(kind);
  // A patient does not wait for what else comes from the console, or from its address.
  if (kind == CallKind::kAcquisition) {
    if (use.open[index] >= most_streams_) {
      return refuse("acquisitions", use.open[index], most_streams_);
    }
    if (all_.open[index] < streams_of_all_) return absl::OkStatus();
    return Refuse("acquisitions",
                  absl::StrCat("1 acquisition stream is needed; 0 are free of ", streams_of_all_,
                               "; try again when other acquisitions have ended"));
  }
  if (use.credit < 1) {
    return Refuse("calls_per_second",
                  absl::StrCat(caller, " calls more often than ", calls_per_second_,
                               " times a second; legal is at most that; try again in a second"));
  }
  if (kind == CallKind::kDownload && use.open[index] >= most_downloads_) {
    return refuse("downloads", use.open[index], most_downloads_);
  }
  if (kind == CallKind::kQuote && use.open[index] >= kQuotesPerCaller) {
    return refuse("quotes", use.open[index], kQuotesPerCaller);
  }
  if (use.calls() >= most_calls_) return refuse("calls", use.calls(), most_calls_);
  if (kind == CallKind::kDownload && all_.open[index] >= kMostDownloads) {
    return full("downloads", kMostDownloads);
  }
  if (kind == CallKind::kQuote && all_.open[index] >= kMostQuotes) {
    return full("quotes", kMostQuotes);
  }
  if (all_.calls() >= kMostCalls) return full("calls", kMostCalls);
  return absl::OkStatus();
}

absl::StatusOr<CallerQuotas::Place> CallerQuotas::Enter(const std::string& caller, CallKind kind) {
  const absl::Time now = clock_();
  absl::MutexLock lock(&mutex_);
  Use& use = UseOf(caller, now);
  const absl::Status status = Check(caller, use, kind);
  if (!status.ok()) return status;
  if (kind != CallKind::kAcquisition) --use.credit;
  ++use.open[static_cast<size_t>(kind)];
  ++all_.open[static_cast<size_t>(kind)];
  Place place;
  place.quotas_ = this;
  place.caller_ = caller;
  place.kind_ = kind;
  return place;
}

void CallerQuotas::Leave(const std::string& caller, CallKind kind) {
  absl::MutexLock lock(&mutex_);
  --callers_.at(caller).open[static_cast<size_t>(kind)];
  --all_.open[static_cast<size_t>(kind)];
}

size_t CallerQuotas::callers() const {
  absl::MutexLock lock(&mutex_);
  return callers_.size();
}

}  // namespace isocenter::rpc
