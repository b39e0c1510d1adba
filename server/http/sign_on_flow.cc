#include "server/http/sign_on_flow.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/crypto/digests.h"

namespace isocenter::http {
namespace {

absl::Status NotBegunHere() {
  return absl::PermissionDeniedError(
      "This sign-in was not begun in this browser, was begun more than 10 minutes ago, or has been "
      "used already.");
}

}  // namespace

SignOnFlow::SignOnFlow() : key_(crypto::RandomToken()) {}

openid::FlowSecrets SignOnFlow::SecretsOf(absl::string_view id) const {
  const auto derive = [&](const char* purpose) {
    return crypto::HmacHex(key_, absl::StrCat(purpose, " ", id));
  };
  return {.state = derive("state"), .nonce = derive("nonce"), .verifier = derive("verifier")};
}

absl::StatusOr<SignOnFlow::Begun> SignOnFlow::Begin(absl::Time now) const {
  const std::string random = crypto::RandomToken();
  if (random.empty() || key_.empty()) {
    return absl::UnavailableError("the system gives no random numbers");
  }
  const std::string id = absl::StrCat(random, ".", absl::ToUnixSeconds(now));
  return Begun{.cookie = absl::StrCat(id, ".", crypto::HmacHex(key_, absl::StrCat("cookie ", id))),
               .secrets = SecretsOf(id)};
}

absl::StatusOr<openid::FlowSecrets> SignOnFlow::Resume(absl::string_view cookie,
                                                       absl::string_view state, absl::Time now) {
  const std::vector<absl::string_view> parts = absl::StrSplit(cookie, '.');
  int64_t seconds = 0;
  if (parts.size() != 3 || !absl::SimpleAtoi(parts[1], &seconds)) return NotBegunHere();
  const std::string id = absl::StrCat(parts[0], ".", parts[1]);
  if (!crypto::EqualInConstantTime(parts[2], crypto::HmacHex(key_, absl::StrCat("cookie ", id)))) {
    return NotBegunHere();
  }
  openid::FlowSecrets secrets = SecretsOf(id);
  const absl::Time begun = absl::FromUnixSeconds(seconds);
  if (!crypto::EqualInConstantTime(state, secrets.state) || now > begun + kLongest) {
    return NotBegunHere();
  }
  absl::MutexLock lock(&mutex_);
  std::erase_if(resumed_, [now](const auto& entry) { return now > entry.second + kLongest; });
  if (resumed_.contains(id)) return NotBegunHere();
  if (now > turns_since_) {
    const double rested = absl::ToDoubleSeconds(now - turns_since_);
    turns_ = std::min<double>(kMostTurns, turns_ + rested);
    turns_since_ = now;
  }
  if (turns_ < 1) {
    return absl::ResourceExhaustedError("Too many people sign in at once. Try again in a minute.");
  }
  turns_ -= 1;
  resumed_[id] = begun;
  return secrets;
}

}  // namespace isocenter::http
