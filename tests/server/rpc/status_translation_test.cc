#include "server/rpc/translation/status_translation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "grpcpp/test/server_context_test_spouse.h"

namespace isocenter::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::multimap<grpc::string, grpc::string> TrailersAfter(std::optional<absl::Duration> wait) {
  grpc::ServerContext call;
  AddRetryAfter(wait, call);
  return grpc::testing::ServerContextTestSpouse(&call).GetTrailingMetadata();
}

TEST(RetryAfter, IsInWholeMillisecondsRoundedUp) {
  EXPECT_THAT(TrailersAfter(absl::Microseconds(1500100)),
              ElementsAre(Pair("isocenter-retry-after-ms", "1501")));
  EXPECT_THAT(TrailersAfter(absl::Seconds(-1)), ElementsAre(Pair("isocenter-retry-after-ms", "0")));
}

TEST(RetryAfter, IsLeftOutWhereNobodyKnows) {
  EXPECT_THAT(TrailersAfter(std::nullopt), IsEmpty());
  EXPECT_THAT(TrailersAfter(absl::InfiniteDuration()), IsEmpty());
}

}  // namespace
}  // namespace isocenter::rpc
