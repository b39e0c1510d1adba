// How the warnings of a job are told in a list.
#include "client/cli/output/job_warnings.h"

#include <gtest/gtest.h>

#include <vector>

#include "client/cli/output/job_text.h"

namespace isocenter::cli {
namespace {

v1::Job JobWith(const std::vector<v1::WarningKind>& kinds) {
  v1::Job job;
  job.set_state(v1::JOB_STATE_COMPLETED);
  for (const v1::WarningKind kind : kinds) job.add_warning()->set_kind(kind);
  return job;
}

TEST(WarningNote, NamesTheWorstKind) {
  EXPECT_EQ(WarningNote(JobWith({})), "");
  EXPECT_EQ(WarningNote(JobWith({v1::WARNING_KIND_FRAME_GAP})), "frame gap");
  EXPECT_EQ(WarningNote(JobWith({v1::WARNING_KIND_DOSE_DIP, v1::WARNING_KIND_AIR_LEVEL})),
            "may be wrong: air level (2 warnings)");
  EXPECT_EQ(WarningNote(JobWith({v1::WARNING_KIND_CALIBRATION, v1::WARNING_KIND_MATRICES_MISFIT})),
            "may be wrong: matrices misfit (2 warnings)");
}

TEST(WarningNote, ThatAVolumeMayBeWrongIsSaidWhereOneIsOrWillBe) {
  v1::Job job = JobWith({v1::WARNING_KIND_AIR_LEVEL});
  job.set_state(v1::JOB_STATE_RECEIVING);
  EXPECT_EQ(WarningNote(job), "may be wrong: air level");
  job.set_state(v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(WarningNote(job), "air level");
}

TEST(WarningNote, AKindOfANewerServerIsUnknown) {
  const v1::Job job = JobWith({static_cast<v1::WarningKind>(999)});
  EXPECT_EQ(WarningNote(job), "unknown");
  EXPECT_TRUE(DoubtsOf(job).empty());
}

/// Every kind has a place in the order, and a cell that leaves the table's lines readable.
TEST(WarningNote, OfEveryKindIsShort) {
  std::vector<v1::WarningKind> all;
  for (int kind = 1; kind <= v1::WarningKind_MAX; ++kind) {
    if (v1::WarningKind_IsValid(kind)) all.push_back(static_cast<v1::WarningKind>(kind));
  }
  std::vector<v1::WarningKind> reversed(all.rbegin(), all.rend());
  EXPECT_EQ(KindsOf(JobWith(all)), KindsOf(JobWith(reversed)));  // stable only where places differ
  for (const v1::WarningKind kind : all) EXPECT_LT(WarningNote(JobWith({kind})).size(), 36);
}

TEST(JobJson, HasTheKindsOfWarnings) {
  const nlohmann::ordered_json json = ToJson(
      JobWith({v1::WARNING_KIND_DOSE_DIP, v1::WARNING_KIND_AIR_LEVEL, v1::WARNING_KIND_DOSE_DIP}));
  EXPECT_EQ(json["warning_kinds"].dump(), R"(["air_level","dose_dip"])");
  EXPECT_EQ(json["doubts"].dump(), R"(["air_level"])");
}

}  // namespace
}  // namespace isocenter::cli
