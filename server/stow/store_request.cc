#include "server/stow/store_request.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/crypto/digests.h"
#include "server/stow/bearer_token.h"
#include "server/stow/store_answer.h"

namespace isocenter::stow {
namespace {

constexpr absl::Duration kToConnect = absl::Seconds(5), kToAnswer = absl::Minutes(2);
constexpr uint64_t kSlowestBytesPerSecond = 64 << 10;

absl::string_view MeaningOf(int status) {
  switch (status) {
    case 400:
      return "bad request";
    case 401:
      return "it wants another token";
    case 403:
      return "we may not store there";
    case 404:
      return "nothing is there";
    case 409:
      return "conflict, of which it says no more";
    case 413:
      return "too large";
    case 415:
      return "it does not take such objects";
    case 429:
    case 503:
      return "busy";
    default:
      return status >= 300 && status < 400 ? "it leads elsewhere, where we do not go" : "error";
  }
}

/// An answer that does not say what has become of each object.
Outcome OfAll(int status) {
  Outcome outcome{.reason = absl::StrCat("the destination answers with HTTP status ", status, ": ",
                                         MeaningOf(status))};
  if (status == 413) {
    outcome.kind = Outcome::Kind::kTooLarge;
  } else if (status == 400 || status == 409 || status == 415 || status == 422) {
    outcome.kind = Outcome::Kind::kRefused;
  }
  return outcome;
}

Outcome OfEach(const StoreAnswer& answer, const std::vector<std::string>& uids) {
  Outcome outcome{.kind = Outcome::Kind::kEach};
  for (const std::string& uid : uids) {
    Reception& reception = outcome.receptions.emplace_back();
    // Who is named in both was not stored.
    if (const auto refused = answer.refused.find(uid); refused != answer.refused.end()) {
      reception = {Reception::Kind::kRefused, refused->second};
    } else if (answer.stored.contains(uid)) {
      reception.kind = Reception::Kind::kStored;
    }
  }
  return outcome;
}

Outcome Read(const web::Answer& answer, const std::vector<std::string>& uids) {
  const bool says_each = answer.status == 200 || answer.status == 202 || answer.status == 409;
  if (!says_each) return OfAll(answer.status);
  const absl::StatusOr<StoreAnswer> parsed = ParseStoreAnswer(answer.content_type, answer.body);
  if (parsed.ok()) {
    Outcome outcome = OfEach(*parsed, uids);
    const bool says_nothing = parsed->stored.empty() && parsed->refused.empty();
    if (answer.status != 409 || !says_nothing) return outcome;
  } else if (answer.status != 409) {
    return {.reason = std::string(parsed.status().message())};
  }
  return OfAll(answer.status);
}

}  // namespace

Outcome Store(const Destination& destination, std::vector<Object> objects,
              const std::function<bool()>& stopped) {
  std::vector<std::string> uids;
  for (const Object& object : objects) uids.push_back(object.sop_instance_uid);
  const std::string boundary = crypto::RandomToken();
  if (boundary.empty()) return {.reason = "the system gives no random numbers"};
  web::Request request{
      .url = destination.url,
      .headers = {absl::StrCat("Content-Type: multipart/related; type=\"application/dicom\"; "
                               "boundary=",
                               boundary),
                  "Accept: application/dicom+json"},
      .most_bytes = kMostAnswerBytes,
      .connect_limit = kToConnect,
      .stall_limit = kToAnswer,
      .stopped = stopped};
  if (!destination.bearer_token_file.empty()) {
    const absl::StatusOr<std::string> token =
        ReadBearerToken("bearer_token_file", destination.bearer_token_file);
    if (!token.ok()) return {.reason = std::string(token.status().message())};
    request.headers.push_back(absl::StrCat("Authorization: Bearer ", *token));
  }
  web::Body body = MultipartBody(std::move(objects), boundary);
  request.limit =
      kToAnswer + absl::Seconds(static_cast<double>(body.bytes) / kSlowestBytesPerSecond);
  bool has_begun = false;
  request.body = {.bytes = body.bytes, .read = [&](uint64_t offset, std::span<char> piece) {
                    has_begun = true;
                    return body.read(offset, piece);
                  }};
  const absl::StatusOr<web::Answer> answer = web::Ask(request, destination.trust);
  Outcome outcome;
  if (answer.ok()) {
    outcome = Read(*answer, uids);
    outcome.retry_after = answer->retry_after;
  } else {
    outcome.reason = absl::StrCat("no answer: ", answer.status().message());
  }
  outcome.has_begun = has_begun;
  return outcome;
}

}  // namespace isocenter::stow
