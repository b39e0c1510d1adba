// What binds a sign-in by the identity provider to the browser that began it.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/roles/openid/sign_on.h"

namespace isocenter::http {

/// The browser keeps a cookie; state, nonce and verifier are made of it with a key of this process,
/// so that nothing is kept for those who begin and never come back. Thread-safe.
class SignOnFlow {
 public:
  static constexpr char kCookie[] = "isocenter_sign_on";
  static constexpr absl::Duration kLongest = absl::Minutes(10);
  /// Codes that the provider is asked about: so many at once, and one more each second.
  static constexpr int kMostTurns = 30;

  SignOnFlow();

  struct Begun {
    std::string cookie;
    openid::FlowSecrets secrets;
  };
  /// Errors: UNAVAILABLE (no randomness).
  absl::StatusOr<Begun> Begin(absl::Time now) const;

  /// The secrets of the sign-in that a browser comes back from; once for each. Errors:
  /// PERMISSION_DENIED (it was not begun in this browser, too long ago, or has come back before),
  /// RESOURCE_EXHAUSTED (the provider has been asked too often).
  absl::StatusOr<openid::FlowSecrets> Resume(absl::string_view cookie, absl::string_view state,
                                             absl::Time now);

 private:
  openid::FlowSecrets SecretsOf(absl::string_view id) const;

  const std::string key_;
  absl::Mutex mutex_;
  double turns_ ABSL_GUARDED_BY(mutex_) = kMostTurns;
  absl::Time turns_since_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  /// When each that has come back began. Turns bound their number.
  std::map<std::string, absl::Time> resumed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::http
