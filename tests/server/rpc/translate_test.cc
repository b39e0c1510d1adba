#include "server/rpc/translation/translate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "google/protobuf/message.h"
#include "isocenter/v1/procedure_steps.pb.h"
#include "server/jobs/job_members.h"
#include "server/jobs/procedure_steps.h"
#include "server/rpc/translation/wire_enum.h"
#include "tests/server/fakes/full_job.h"

namespace isocenter::rpc {
namespace {

using ::testing::EndsWith;
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

/// Holds a message against the members of what it was made of: each that is not `absent` has a
/// field of its name, with its value.
class WireCheck {
 public:
  WireCheck(const google::protobuf::Message& message, std::set<std::string> absent = {})
      : message_(message), reflection_(*message.GetReflection()), absent_(std::move(absent)) {}

  void operator()(const std::string& name, const auto& value, const jobs::Shown& shown = {}) const {
    const google::protobuf::FieldDescriptor* const field = FieldOf(name, shown);
    EXPECT_NE(field != nullptr, absent_.contains(name))
        << message_.GetTypeName() << " and the member " << name;
    if (field != nullptr && !absent_.contains(name)) Compare(*field, value);
  }

 private:
  const google::protobuf::FieldDescriptor* FieldOf(const std::string& name,
                                                   const jobs::Shown& shown) const {
    for (const std::string& candidate :
         {name, std::string(shown.name == nullptr ? "" : shown.name), "job_" + name,
          name + "_seconds", name.substr(0, name.size() - 1)}) {
      const auto* field = message_.GetDescriptor()->FindFieldByName(candidate);
      if (field != nullptr) return field;
    }
    return nullptr;
  }
  void Compare(const google::protobuf::FieldDescriptor& field, int value) const {
    EXPECT_EQ(reflection_.GetUInt32(message_, &field), static_cast<uint32_t>(value))
        << field.full_name();
  }
  void Compare(const google::protobuf::FieldDescriptor& field, bool value) const {
    EXPECT_EQ(reflection_.GetBool(message_, &field), value) << field.full_name();
  }
  void Compare(const google::protobuf::FieldDescriptor& field, double value) const {
    EXPECT_EQ(reflection_.GetDouble(message_, &field), value) << field.full_name();
  }
  void Compare(const google::protobuf::FieldDescriptor& field, const std::string& value) const {
    EXPECT_EQ(reflection_.GetString(message_, &field), value) << field.full_name();
  }
  void Compare(const google::protobuf::FieldDescriptor& field, absl::Time value) const {
    google::protobuf::Timestamp time;
    time.CopyFrom(reflection_.GetMessage(message_, &field));
    EXPECT_EQ(time.SerializeAsString(), TimestampToProto(value).SerializeAsString());
  }
  void Compare(const google::protobuf::FieldDescriptor& field,
               const jobs::Named auto& value) const {
    EXPECT_THAT(reflection_.GetEnum(message_, &field)->name(),
                EndsWith("_" + absl::AsciiStrToUpper(jobs::Name(value))));
  }
  template <class T>
  void Compare(const google::protobuf::FieldDescriptor& field,
               const std::optional<T>& value) const {
    EXPECT_EQ(reflection_.HasField(message_, &field), value.has_value()) << field.full_name();
    if (value) Compare(field, *value);
  }
  template <class T>
  void Compare(const google::protobuf::FieldDescriptor& field, const std::vector<T>& value) const {
    EXPECT_EQ(reflection_.FieldSize(message_, &field), static_cast<int>(value.size()))
        << field.full_name();
  }
  void Compare(const google::protobuf::FieldDescriptor& field, const jobs::HasMembers auto&) const {
    EXPECT_TRUE(reflection_.HasField(message_, &field)) << field.full_name();
  }
  // Those that are nowhere on the wire.
  void Compare(const google::protobuf::FieldDescriptor& field, const auto&) const {
    ADD_FAILURE() << field.full_name() << " is compared with nothing";
  }

  const google::protobuf::Message& message_;
  const google::protobuf::Reflection& reflection_;
  const std::set<std::string> absent_;
};

// Whoever adds a member to a job puts it on the wire, or says here why it is not there.
TEST(TranslateJob, EveryMemberIsOnTheWire) {
  jobs::Job job = testing::FullJob();
  job.state = jobs::JobState::kCompleted;
  const v1::Job proto = ToProto(job);
  jobs::VisitMembers(WireCheck(proto, {"request_id",      // its console knows it
                                       "begun_by",        // nobody's business but the guard's
                                       "source_job_ids",  // of a refinement: refines_job_id
                                       "deadline",        // as the console asked for
                                       "error",           // error_code, error_message
                                       "refinement",      // its iterations: iteration
                                       // Of DICOM, whose objects have it.
                                       "patient_study", "order", "facts", "dicom_forms"}),
                     job);
  EXPECT_EQ(proto.refines_job_id(), "source-9");
  jobs::VisitMembers(WireCheck(proto.progress()), job.progress);
  jobs::VisitMembers(WireCheck(proto.result()), job.result);
  jobs::VisitMembers(WireCheck(proto.result().timings()), job.result.timings);
  ASSERT_EQ(proto.iteration_size(), 2);
  jobs::VisitMembers(WireCheck(proto.iteration(0)), job.refinement.iterations[0]);
  jobs::VisitMembers(WireCheck(proto.iteration(1)), job.refinement.iterations[1]);
  ASSERT_EQ(proto.warning_size(), 2);
  jobs::VisitMembers(WireCheck(proto.warning(0)), job.warnings[0]);
  jobs::VisitMembers(WireCheck(proto.warning(1)), job.warnings[1]);
}

TEST(TranslateJob, ASecondPassSaysWhatItCorrectsFor) {
  jobs::Job job;
  EXPECT_FALSE(ToProto(job).has_second_pass());
  job.source_job_ids = {"j"};
  job.refinement.algorithm = "second_pass_bone";
  job.refinement.second_pass = {.bone = true};
  const v1::Job proto = ToProto(job);
  EXPECT_EQ(proto.refines_job_id(), "j");
  jobs::VisitMembers(WireCheck(proto.second_pass()), *job.refinement.second_pass);
}

TEST(TranslateJob, AMotionThatWasFoundIsToldInFull) {
  jobs::Job job{.source_job_ids = {"j"}};
  job.refinement.algorithm = "second_pass_motion";
  job.refinement.second_pass = {.motion = true};
  EXPECT_FALSE(ToProto(job).has_motion());
  job.refinement.motion = {.found = true,
                           .largest_shift_mm = 4,
                           .largest_turn_deg = 3,
                           .entropy_before = 3.5,
                           .entropy_after = 3.25,
                           .poses = {{1, 2, 3, 4, 5, 6}, {-1, -2, -3, -4, -5, -6}}};
  const v1::Job proto = ToProto(job);
  jobs::VisitMembers(WireCheck(proto.second_pass()), *job.refinement.second_pass);
  jobs::VisitMembers(WireCheck(proto.motion()), *job.refinement.motion);
  jobs::VisitMembers(WireCheck(proto.motion().pose(1)), job.refinement.motion->poses[1]);
}

TEST(TranslateJob, WhereTheDetectorWasIsToldInFull) {
  jobs::Job job{.source_job_ids = {"j"}};
  job.refinement.algorithm = "second_pass_self_calibrate";
  job.refinement.second_pass = {.self_calibrate = true};
  EXPECT_FALSE(ToProto(job).has_self_calibration());
  job.refinement.self_calibration = {.found = true,
                                     .constant = true,
                                     .smooth = true,
                                     .u_mm = 0.5,
                                     .roll_deg = 0.25,
                                     .smooth_rms_mm = 0.125,
                                     .largest_smooth_mm = 0.75,
                                     .entropy_before = 3.5,
                                     .entropy_after = 3.25,
                                     .planes_before = 2,
                                     .planes_after = 1.5,
                                     .not_judged = "why",
                                     .moves = {{1, 2}, {-1, -2}}};
  EXPECT_FALSE(ToProto(job).self_calibration().has_reference());
  job.refinement.second_pass->reference_job_id = "job-1";
  job.refinement.self_calibration->reference = {.taken = true,
                                                .patient = {1.5, 2.5, 3.5, 4.5, 5.5, 6.5},
                                                .covered = 0.75,
                                                .similarity_before = 0.875,
                                                .similarity_after = 0.9375,
                                                .entropy = 3.125,
                                                .planes = 1.25};
  const v1::Job proto = ToProto(job);
  const v1::ReferenceMatch& reference = proto.self_calibration().reference();
  jobs::VisitMembers(WireCheck(reference), *job.refinement.self_calibration->reference);
  jobs::VisitMembers(WireCheck(reference.patient()),
                     job.refinement.self_calibration->reference->patient);
  jobs::VisitMembers(WireCheck(proto.second_pass()), *job.refinement.second_pass);
  jobs::VisitMembers(WireCheck(proto.self_calibration()), *job.refinement.self_calibration);
  ASSERT_EQ(proto.self_calibration().move_size(), 2);
  jobs::VisitMembers(WireCheck(proto.self_calibration().move(1)),
                     job.refinement.self_calibration->moves[1]);
}

TEST(TranslateJob, APhaseSaysWhatItIsOf) {
  jobs::Job scan;
  EXPECT_FALSE(ToProto(scan).has_phase_cycle());
  EXPECT_FALSE(ToProto(scan).has_phase());
  scan.facts.phase_cycle = jobs::PhaseCycle::kUnknown;
  EXPECT_TRUE(ToProto(scan).has_phase_cycle());
  EXPECT_EQ(ToProto(scan).phase_cycle(), v1::PHASE_CYCLE_UNSPECIFIED);
  scan.facts.phase_cycle = jobs::PhaseCycle::kRespiratory;
  EXPECT_EQ(ToProto(scan).phase_cycle(), v1::PHASE_CYCLE_RESPIRATORY);
  jobs::Job refined = scan;
  refined.source_job_ids = {"j"};
  refined.refinement.algorithm = "fdk";
  refined.refinement.phase = {
      .phase = 0.25, .width = 0.2, .frames = 61, .largest_gap_deg = 11.5, .cycle_seconds = 0.8};
  const v1::Job proto = ToProto(refined);
  EXPECT_FALSE(proto.has_phase_cycle());                           // has no frames of its own
  jobs::VisitMembers(WireCheck(proto.phase(), {"cycle_seconds"}),  // of DICOM
                     *refined.refinement.phase);
}

/// Every value has a number of its own, and every number of the wire but 0 is one's.
template <class Wire, class Enum>
void ExpectSameValues() {
  std::set<int> numbers;
  for (const Enum value : jobs::AllOf<Enum>()) {
    const int number = ToWire<Wire>(value);
    numbers.insert(number);
    EXPECT_EQ((FromWire<Wire, Enum>(number)), value) << jobs::Name(value);
  }
  numbers.insert(0);
  const auto& wire = *google::protobuf::GetEnumDescriptor<Wire>();
  EXPECT_EQ(static_cast<int>(numbers.size()), wire.value_count()) << wire.full_name();
  EXPECT_FALSE((FromWire<Wire, Enum>(wire.value_count())).has_value());
  EXPECT_FALSE((FromWire<Wire, Enum>(-1)).has_value());
}

TEST(TranslateJob, EnumerationsHaveTheSameValues) {
  ExpectSameValues<v1::JobState, jobs::JobState>();
  ExpectSameValues<v1::JobClass, jobs::JobClass>();
  ExpectSameValues<v1::PairRole, jobs::PairRole>();
  ExpectSameValues<v1::WarningKind, jobs::WarningKind>();
  ExpectSameValues<v1::CancelReason, jobs::CancelReason>();
  ExpectSameValues<v1::PlaneOrientation, jobs::PlaneOrientation>();
  ExpectSameValues<v1::ProcedureStepState, jobs::ProcedureStepState>();
  EXPECT_EQ(ToWire<v1::PairRole>(jobs::PairRole::kNone), v1::PAIR_ROLE_UNSPECIFIED);
}

TEST(TranslateJob, EveryKindHasANumberOfItsOwn) {
  std::set<int> kinds;
  for (const jobs::WarningKind kind : jobs::AllOf<jobs::WarningKind>()) {
    kinds.insert(ToProto(kind));
  }
  EXPECT_EQ(kinds.size(), jobs::AllOf<jobs::WarningKind>().size());
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
  jobs::Job job;
  job.facts.patient_position = PatientPosition::kFfs;
  job.preview = std::make_shared<jobs::Preview>(
      jobs::Preview{.frames_backprojected = 7,
                    .planes = {{.orientation = jobs::PlaneOrientation::kSagittal,
                                .columns = 1,
                                .rows = 2,
                                .column_spacing_mm = 0.5,
                                .row_spacing_mm = 1.5,
                                .hounsfield = {-1000, 258}}}});
  const v1::Preview proto = PreviewToProto(job);
  // Feet first: the world's z is to the feet, its x to the patient's right.
  EXPECT_THAT(proto.grid().direction(), ::testing::ElementsAre(-1, 0, 0, 0, 1, 0, 0, 0, -1));
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
