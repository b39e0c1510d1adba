// The parts of sending that need no network.
#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dcuid.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/dicom/objects/uids.h"
#include "server/dicom/sending/store_scu.h"

namespace isocenter::dicom {
namespace {

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
