// The parts of sending that need no network.
#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dcuid.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/dicom/objects/uids.h"
#include "server/dicom/sending/backoff.h"
#include "server/dicom/sending/store_scu.h"

namespace isocenter::dicom {
namespace {

TEST(Backoff, DoublesUpToTheLongest) {
  Backoff backoff(absl::Seconds(5), absl::Seconds(60), [] { return 1.0; });
  for (const int seconds : {5, 10, 20, 40, 60, 60}) {
    EXPECT_EQ(backoff.Fail(), absl::Seconds(seconds));
  }
  EXPECT_EQ(backoff.failures(), 6);
  backoff.Succeed();
  EXPECT_EQ(backoff.Fail(), absl::Seconds(5));
}

TEST(Backoff, ChanceShortensByUpToHalf) {
  double chance = 0;
  Backoff backoff(absl::Seconds(10), absl::Seconds(10), [&] { return chance; });
  EXPECT_EQ(backoff.Fail(), absl::Seconds(5));
  chance = 0.5;
  EXPECT_EQ(backoff.Fail(), absl::Seconds(7.5));
}

TEST(Backoff, EndlessFailuresDoNotOverflow) {
  Backoff backoff(absl::Milliseconds(50), absl::Hours(24), [] { return 1.0; });
  for (int i = 0; i < 10000; ++i) EXPECT_LE(backoff.Fail(), absl::Hours(24));
}

TEST(StoreStatus, WhatADestinationSaysDecidesWhatComesNext) {
  struct {
    uint16_t status;
    StoreVerdict verdict;
  } const cases[] = {
      {0x0000, StoreVerdict::kStored},      {0xb000, StoreVerdict::kStored},
      {0xb006, StoreVerdict::kStored},      {0xb007, StoreVerdict::kStored},
      {0x0111, StoreVerdict::kStored},  // it has it already
      {0xa700, StoreVerdict::kTryLater},    {0xa7ff, StoreVerdict::kTryLater},
      {0x0213, StoreVerdict::kTryLater},    {0x0110, StoreVerdict::kTryLater},
      {0xa900, StoreVerdict::kRefused},     {0xa901, StoreVerdict::kRefused},
      {0xc000, StoreVerdict::kRefused},     {0xcfff, StoreVerdict::kRefused},
      {0x0122, StoreVerdict::kNotAccepted}, {0x0124, StoreVerdict::kRefused},
      {0x0117, StoreVerdict::kRefused},
  };
  for (const auto& [status, verdict] : cases) {
    const StoreAnswer answer = JudgeStoreStatus(status);
    EXPECT_EQ(answer.verdict, verdict) << std::hex << status;
    EXPECT_EQ(answer.reason.empty(), verdict == StoreVerdict::kStored) << std::hex << status;
  }
}

TEST(RandomUid, IsAUidAndNeverTheSame) {
  EXPECT_TRUE(IsUid(RandomUid())) << RandomUid();
  EXPECT_NE(RandomUid(), RandomUid());
}

}  // namespace
}  // namespace isocenter::dicom
