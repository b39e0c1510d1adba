#include "kernels/ops/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isocenter::ops {
namespace {

using ::testing::HasSubstr;

TEST(MethodTable, TheFirstMethodOfABackendIsItsDefault) {
  MethodTable<int> table;
  table.Add("a", "plain", 1);
  table.Add("b", "fast", 2);
  table.Add("b", "slow", 3);
  EXPECT_EQ(*table.Find("b"), 2);
  EXPECT_EQ(*table.Find("b", "slow"), 3);
}

TEST(MethodTable, AnUnknownMethodIsRefusedWithTheList) {
  MethodTable<int> table;
  table.Add("a", "plain", 1);
  const auto missing = table.Find("a", "rapid");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(missing.status().message(), HasSubstr("'rapid' for backend 'a'; there are: plain"));
}

TEST(Registry, AnUnknownBackendIsRefusedWithTheList) {
  Registry registry;
  registry.devices["cpu"] = nullptr;
  const auto missing = registry.OpenDevice("abacus", {});
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(missing.status().message(), HasSubstr("no backend 'abacus'; there are: cpu"));
}

}  // namespace
}  // namespace isocenter::ops
