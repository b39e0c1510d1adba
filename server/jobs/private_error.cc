#include "server/jobs/private_error.h"

#include "absl/strings/cord.h"

namespace isocenter::jobs {
namespace {

constexpr char kPrivate[] = "isocenter/private";

}  // namespace

absl::Status MarkPrivate(absl::Status status) {
  if (!status.ok()) status.SetPayload(kPrivate, absl::Cord());
  return status;
}

bool IsPrivate(const absl::Status& status) { return status.GetPayload(kPrivate).has_value(); }

absl::Status Publishable(const absl::Status& status) {
  return {status.code(), IsPrivate(status) ? "" : status.message()};
}

std::string Loggable(const absl::Status& status) {
  if (IsPrivate(status)) return absl::StatusCodeToString(status.code());
  return Publishable(status).ToString();
}

}  // namespace isocenter::jobs
