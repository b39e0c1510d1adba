#include "server/rpc/translate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace isocenter::rpc {
namespace {

using ::testing::HasSubstr;

TEST(TranslateJob, TellsOfClassPairWarningsAndPrediction) {
  jobs::Job job;
  job.id = "j";
  job.job_class = jobs::JobClass::kBatch;
  job.pair_id = "pair-1";
  job.pair_role = jobs::PairRole::kFill;
  job.progress.frames_lost = 3;
  job.warnings = {{jobs::WarningKind::kDoseDip, 17, "the dose dips"},
                  {jobs::WarningKind::kShortArc, std::nullopt, "the arc is short"}};
  job.predicted_finish = absl::FromUnixMillis(1234500);
  job.preview = std::make_shared<jobs::Preview>();
  const v1::Job proto = ToProto(job);
  EXPECT_EQ(proto.job_class(), v1::JOB_CLASS_BATCH);
  EXPECT_EQ(proto.pair_id(), "pair-1");
  EXPECT_EQ(proto.pair_role(), v1::PAIR_ROLE_FILL);
  EXPECT_EQ(proto.progress().frames_lost(), 3u);
  ASSERT_EQ(proto.warning_size(), 2);
  EXPECT_EQ(proto.warning(0).kind(), v1::WARNING_KIND_DOSE_DIP);
  EXPECT_EQ(proto.warning(0).frame_index(), 17u);
  EXPECT_EQ(proto.warning(0).text(), "the dose dips");
  EXPECT_FALSE(proto.warning(1).has_frame_index());
  EXPECT_EQ(proto.predicted_finish_time().seconds(), 1234);
  EXPECT_EQ(proto.predicted_finish_time().nanos(), 500'000'000);
  EXPECT_FALSE(proto.has_preview());
}

TEST(TranslateJob, NothingIsPredictedOfWhatIsUnknownOrDone) {
  jobs::Job job;
  EXPECT_FALSE(ToProto(job).has_predicted_finish_time());
  job.predicted_finish = absl::FromUnixSeconds(1);
  EXPECT_TRUE(ToProto(job).has_predicted_finish_time());
  job.state = jobs::JobState::kExporting;
  EXPECT_FALSE(ToProto(job).has_predicted_finish_time());
  EXPECT_EQ(ToProto(job).job_class(), v1::JOB_CLASS_LIVE);
  EXPECT_EQ(ToProto(job).pair_role(), v1::PAIR_ROLE_UNSPECIFIED);
}

TEST(TranslateJob, EveryKindHasANumberOfItsOwn) {
  std::set<int> kinds;
  const auto last = static_cast<int>(jobs::WarningKind::kDeviceReplaced);
  for (int kind = 0; kind <= last; ++kind) {
    kinds.insert(ToProto(static_cast<jobs::WarningKind>(kind)));
  }
  EXPECT_EQ(static_cast<int>(kinds.size()), last + 1);
  EXPECT_FALSE(kinds.contains(v1::WARNING_KIND_UNSPECIFIED));
}

TEST(TranslateJob, ClassesComeBack) {
  for (const jobs::JobClass job_class :
       {jobs::JobClass::kLive, jobs::JobClass::kInteractive, jobs::JobClass::kBatch}) {
    EXPECT_EQ(*JobClassFromProto(ToProto(job_class)), job_class);
  }
  EXPECT_EQ(*JobClassFromProto(v1::JOB_CLASS_UNSPECIFIED), jobs::JobClass::kLive);
  EXPECT_THAT(std::string(JobClassFromProto(9).status().message()),
              HasSubstr("job_class is 9; legal is a JobClass"));
}

TEST(TranslatePreview, PixelsAreLittleEndianRowByRow) {
  const jobs::Preview preview{.frames_backprojected = 7,
                              .planes = {{.orientation = jobs::PlaneOrientation::kSagittal,
                                          .columns = 1,
                                          .rows = 2,
                                          .column_spacing_mm = 0.5,
                                          .row_spacing_mm = 1.5,
                                          .hounsfield = {-1000, 258}}}};
  const v1::Preview proto = PreviewToProto(preview);
  EXPECT_EQ(proto.frames_backprojected(), 7u);
  ASSERT_EQ(proto.plane_size(), 1);
  EXPECT_EQ(proto.plane(0).orientation(), v1::PLANE_ORIENTATION_SAGITTAL);
  EXPECT_EQ(proto.plane(0).columns(), 1u);
  EXPECT_EQ(proto.plane(0).rows(), 2u);
  EXPECT_EQ(proto.plane(0).column_spacing_mm(), 0.5);
  EXPECT_EQ(proto.plane(0).row_spacing_mm(), 1.5);
  EXPECT_EQ(proto.plane(0).hounsfield(), std::string("\x18\xfc\x02\x01"));
}

}  // namespace
}  // namespace isocenter::rpc
