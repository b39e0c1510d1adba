#include "server/pipeline/request_decoders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/server/fakes/spooled_frames.h"
#include "tests/server/fakes/test_scan.h"

namespace isocenter::pipeline {
namespace {

using ::testing::HasSubstr;

// A file made for one frame whose description speaks of many would have them looked up behind what
// is known of the one.
TEST(DecodeSpooled, ARequestOfAnotherNumberOfFramesIsRefused) {
  AcquisitionRequest request = isocenter::testing::SmallRequest();
  const RequestDecoders decoders{.acquisition = [&](const std::string&) { return request; }};
  const isocenter::testing::SpooledFrames whole(request.acquisition);
  EXPECT_TRUE(DecodeSpooled(decoders, *whole.spool).ok());

  recon::Acquisition of_one = request.acquisition;
  of_one.trajectory.resize(1);
  const isocenter::testing::SpooledFrames one(of_one);
  const absl::Status status = DecodeSpooled(decoders, *one.spool).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("frames; legal is 1, as many as"));
}

}  // namespace
}  // namespace isocenter::pipeline
