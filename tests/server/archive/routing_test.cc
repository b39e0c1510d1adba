#include "server/archive/routing.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace isocenter::archive {
namespace {

TEST(Routing, EmptyConditionsMatchEverything) {
  const std::vector<Route> routes = {{.destination = {"ALL"}}};
  EXPECT_EQ(DestinationsOf(routes, jobs::Job()).size(), 1u);
}

TEST(Routing, ConditionsMustAllHold) {
  std::vector<Route> routes(4);
  routes[0].destination.ae_title = "MANUAL";
  routes[0].automatic = false;
  routes[1].destination.ae_title = "SUBTRACTIONS";
  routes[1].roles = {ResultRole::kSubtraction};
  routes[2].destination = {"HEADS", true};
  routes[2].protocols = {"head"};
  routes[3].destination.ae_title = "HEAD FILLS";
  routes[3].protocols = {"head"};
  routes[3].roles = {ResultRole::kFill};
  jobs::Job job = jobs::Job();
  job.protocol = "head";
  job.pair_role = jobs::PairRole::kFill;
  const auto destinations = DestinationsOf(routes, job);
  ASSERT_EQ(destinations.size(), 2u);
  EXPECT_EQ(destinations[0].ae_title, "HEADS");
  EXPECT_TRUE(destinations[0].storage_commitment);
  EXPECT_EQ(destinations[1].ae_title, "HEAD FILLS");
}

TEST(Routing, Roles) {
  jobs::Job job = jobs::Job();
  EXPECT_EQ(RoleOf(job), ResultRole::kSingle);
  job.pair_role = jobs::PairRole::kMask;
  EXPECT_EQ(RoleOf(job), ResultRole::kMask);
  job.pair_role = jobs::PairRole::kSubtraction;
  EXPECT_EQ(RoleOf(job), ResultRole::kSubtraction);
  job.refinement.algorithm = "sirt";
  EXPECT_EQ(RoleOf(job), ResultRole::kRefinement);
}

}  // namespace
}  // namespace isocenter::archive
