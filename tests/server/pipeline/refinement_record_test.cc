// What the record of a refinement has of its source.
#include "server/pipeline/refinement_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace isocenter::pipeline {
namespace {

using jobs::JobWarning;
using jobs::WarningKind;
using testing::ElementsAre;

jobs::Job Refined(const jobs::Job& source) {
  const RefinementRequest request{.settings = recon::SecondPassSettings{.bone = true}};
  return RefinementRecord("r", source, {}, request, absl::UnixEpoch());
}

TEST(RefinementRecord, HasTheWarningsOfItsFrames) {
  const JobWarning air{WarningKind::kAirLevel, 7, "air is dark"};
  const JobWarning stale{WarningKind::kCalibration, std::nullopt, "the table is stale"};
  jobs::Job source;
  source.warnings = {{WarningKind::kLateFrame, 3, "late"},
                     air,
                     {WarningKind::kDeviceReplaced, std::nullopt, "another device"},
                     stale,
                     {WarningKind::kReplicaLost, std::nullopt, "no copy"}};
  const jobs::Job job = Refined(source);
  EXPECT_THAT(job.warnings, ElementsAre(air, stale));
  EXPECT_THAT(job.result.warnings, ElementsAre("air is dark", "the table is stale"));
}

TEST(RefinementRecord, LeavesRoomForWarningsOfItsOwn) {
  jobs::Job source;
  for (size_t i = 0; i < jobs::Job::kMostWarnings; ++i) {
    source.warnings.push_back({WarningKind::kDoseDip, static_cast<int>(i), absl::StrCat(i)});
  }
  const jobs::Job job = Refined(source);
  EXPECT_LT(job.warnings.size(), jobs::Job::kMostWarnings);
  EXPECT_EQ(job.warnings[1], source.warnings[1]);
}

}  // namespace
}  // namespace isocenter::pipeline
