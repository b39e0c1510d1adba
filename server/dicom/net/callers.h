// Who may associate with the node, and how often at once.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "server/dicom/net/node_options.h"

namespace isocenter::dicom {

/// `field` names the caller in messages. INVALID_ARGUMENT: neither of its fields is set, the AE
/// title is none, or the address is no IPv4 address or network.
absl::Status CheckCaller(absl::string_view field, const Caller& caller);

/// Whether one of the legal `callers` covers a peer; with none of them everybody is allowed.
/// `is_who_it_says` is asked where nothing but the AE title speaks for it.
bool IsAllowed(const std::vector<Caller>& callers, const std::string& ae_title,
               const std::string& address, absl::FunctionRef<bool()> is_who_it_says);

/// Counts the associations of each caller. Thread-safe.
class CallerCounts {
 public:
  explicit CallerCounts(int limit) : limit_(limit) {}

  /// One association of a caller, as long as it lives.
  class Place {
   public:
    Place(CallerCounts& counts, const std::string& ae_title, const std::string& address);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    /// False where the caller has as many as it may.
    bool taken() const { return taken_; }

   private:
    CallerCounts& counts_;
    const std::pair<std::string, std::string> caller_;
    const bool taken_;
  };

 private:
  bool Enter(const std::pair<std::string, std::string>& caller);
  void Leave(const std::pair<std::string, std::string>& caller);

  const int limit_;
  absl::Mutex mutex_;
  std::map<std::pair<std::string, std::string>, int> active_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::dicom
