#include "server/rpc/status_translation.h"

#include "absl/strings/cord.h"

namespace isocenter::rpc {
namespace {

// Trailers are limited to 8 KiB by default and percent-encoding triples what is not ASCII.
constexpr size_t kLongestMessage = 2000;
constexpr char kPrivate[] = "isocenter/private";

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      std::string(status.message().substr(0, kLongestMessage)));
}

absl::Status MarkPrivate(absl::Status status) {
  if (!status.ok()) status.SetPayload(kPrivate, absl::Cord());
  return status;
}

std::string Loggable(const absl::Status& status) {
  if (status.GetPayload(kPrivate)) return absl::StatusCodeToString(status.code());
  return absl::Status(status.code(), status.message()).ToString();
}

}  // namespace isocenter::rpc
