// How much of the service one caller may take (docs/adr/0036-what-a-caller-may-take.md).
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "isocenter/v1/server_config.pb.h"

namespace isocenter::rpc {

/// What a call takes a place of, besides its place among all calls.
enum class CallKind { kOther, kDownload, kQuote, kAcquisition };

/// Counts what each caller has and asks for. A caller is who has shown a token or a certificate,
/// else everybody at one address. Thread-safe; outlives its places.
class CallerQuotas {
 public:
  /// Of all callers together.
  static constexpr int kMostCalls = 1024, kMostDownloads = 32;
  /// Acquisition streams of all callers beyond one for each job that may be active: of those that
  /// come back, and wait for their answer.
  static constexpr int kSpareStreams = 16;
  /// Quotes of one caller, and of all. A console asks for one before a scan.
  static constexpr int kQuotesPerCaller = 32, kMostQuotes = 64;

  /// Told of a refused call, by the name of the quota: "acquisitions", "calls", "calls_per_second",
  /// "downloads" or "quotes". May be empty; must not call the quotas.
  using OnRefused = std::function<void(absl::string_view quota)>;

  CallerQuotas(const v1::LimitsConfig& limits, std::function<absl::Time()> clock,
               OnRefused on_refused = nullptr);

  /// Given back when destroyed. Move-only.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept { *this = std::move(other); }
    Place& operator=(Place&& other) noexcept;
    ~Place();

   private:
    friend class CallerQuotas;
    CallerQuotas* quotas_ = nullptr;
    std::string caller_;
    CallKind kind_ = CallKind::kOther;
  };
  /// Errors: RESOURCE_EXHAUSTED with the caller, what he has and what is legal.
  absl::StatusOr<Place> Enter(const std::string& caller, CallKind kind);

  /// Those that it knows.
  size_t callers() const;

 private:
  static constexpr size_t kKinds = 4;
  struct Use {
    std::array<int, kKinds> open{};  // by kind
    double credit = 0;               // calls that may begin at `since`
    absl::Time since;
    int calls() const;
  };
  /// Of all callers that have a call, or had one of late.
  Use& UseOf(const std::string& caller, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Check(const std::string& caller, const Use& use, CallKind kind) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Refuse(const char* quota, const std::string& use_and_limit) const;
  void Leave(const std::string& caller, CallKind kind);

  const int most_calls_, most_downloads_, most_streams_, streams_of_all_;
  const double calls_per_second_;
  const std::function<absl::Time()> clock_;
  const OnRefused on_refused_;
  mutable absl::Mutex mutex_;
  std::map<std::string, Use> callers_ ABSL_GUARDED_BY(mutex_);
  Use all_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::rpc
