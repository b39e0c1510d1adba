// A store of copies, and what origins write into it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "server/replicas/replica_store.h"
#include "tests/server/spool/spool_fixture.h"

namespace isocenter::replicas {

inline const Origin kFirst{.node = "recon1", .spool_id = std::string(32, 'a')};
inline const Origin kThird{.node = "recon3", .spool_id = std::string(32, 'c')};

inline ReplicaHeader HeaderOf(const std::string& job, const Origin& origin = kFirst,
                              int64_t frames = 3, int64_t frame_bytes = 1000) {
  return {.origin = origin,
          .job_id = job,
          .begun_by = "token room1",
          .acquisition = "acquisition of " + job,
          .frames = frames,
          .frame_bytes = frame_bytes};
}

class ReplicaStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.spool.directory = directory_.path() / "replicas";
    options_.clock = [this] { return now_; };
    Start();
  }
  void Start() {
    store_.reset();
    auto store = ReplicaStore::Open(options_);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }
  std::shared_ptr<ReplicaStore::Writer> Begin(const ReplicaHeader& header) {
    auto writer = store_->Begin(header);
    EXPECT_TRUE(writer.ok()) << writer.status();
    return writer.ok() ? *writer : nullptr;
  }

  isocenter::testing::TemporaryDirectory directory_;
  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  StoreOptions options_;
  std::unique_ptr<ReplicaStore> store_;
};

}  // namespace isocenter::replicas
