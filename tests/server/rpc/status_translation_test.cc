#include "server/rpc/translation/status_translation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "grpcpp/test/server_context_test_spouse.h"
#include "server/base/try_again.h"

namespace isocenter::rpc {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::multimap<grpc::string, grpc::string> TrailersAfter(const absl::Status& status) {
  grpc::ServerContext call;
  EXPECT_EQ(ToGrpc(status, call).error_message(), status.message());
  return grpc::testing::ServerContextTestSpouse(&call).GetTrailingMetadata();
}

std::multimap<grpc::string, grpc::string> TrailersAfter(absl::Duration wait) {
  return TrailersAfter(WithRetryAfter(absl::ResourceExhaustedError("full"), wait));
}

TEST(RetryAfter, IsInWholeMillisecondsRoundedUp) {
  EXPECT_THAT(TrailersAfter(absl::Microseconds(1500100)),
              Contains(Pair("isocenter-retry-after-ms", "1501")));
  EXPECT_THAT(TrailersAfter(absl::Seconds(-1)), Contains(Pair("isocenter-retry-after-ms", "0")));
}

TEST(RetryAfter, IsLeftOutWhereNobodyKnows) {
  EXPECT_THAT(TrailersAfter(FullForNow("full")), ElementsAre(Pair("isocenter-try-again", "later")));
}

TEST(TryAgain, IsSaidOfRefusalsThatPassAlone) {
  EXPECT_THAT(TrailersAfter(absl::Seconds(1)), Contains(Pair("isocenter-try-again", "later")));
  EXPECT_THAT(TrailersAfter(absl::ResourceExhaustedError("too large; do not try again")),
              IsEmpty());
  EXPECT_THAT(TrailersAfter(absl::OkStatus()), IsEmpty());
}

}  // namespace
}  // namespace isocenter::rpc
