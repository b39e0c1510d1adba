#include "server/config/protocol_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "server/config/server_config.h"

namespace isocenter::config {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<ProtocolBook> BookOf(const char* text) {
  auto config = ParseServerConfig(text, "test");
  EXPECT_TRUE(config.ok()) << config.status();
  ApplyDefaults(*config);
  return ProtocolBook::Make(*config);
}

std::string Complaint(const char* text) {
  const absl::Status status = BookOf(text).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

/// Of a protocol that iterates.
const recon::IterativeSettings& IterationsOf(const Protocol& protocol) {
  return std::get<recon::IterativeSettings>(protocol.refinement->settings);
}

TEST(ProtocolBook, BuiltInProtocolsMeanWhatTheySay) {
  const auto book = BookOf("");
  ASSERT_TRUE(book.ok());
  ASSERT_EQ(book->all().size(), 9u);
  const Protocol& fdk = **book->Find("");
  EXPECT_EQ(fdk.description.name(), "fdk");
  EXPECT_EQ(fdk.settings.window, ops::FilterWindow::kRamLak);
  EXPECT_EQ(fdk.settings.cutoff, 1);
  EXPECT_EQ(fdk.settings.mu_water_per_mm, 0.02);
  EXPECT_EQ(fdk.settings.redundancy, RedundancyWeighting::kAuto);
  EXPECT_EQ(fdk.auto_grid_size, 256);
  EXPECT_EQ(fdk.settings.truncation, ops::Truncation::kNone);
  EXPECT_EQ(fdk.missing_frames, jobs::MissingFrames());
  EXPECT_EQ(fdk.description.missing_frames().policy(), v1::MISSING_FRAMES_POLICY_INTERPOLATE);
  EXPECT_EQ(fdk.description.missing_frames().longest_gap(), 4u);
  EXPECT_EQ(fdk.description.missing_frames().most_missing(), 0.05);
  EXPECT_EQ((*book->Find("fdk_fast"))->settings.precision, ops::Precision::kFast);
  EXPECT_EQ((*book->Find("fdk_sharp"))->settings.window, ops::FilterWindow::kSheppLogan);
  EXPECT_EQ((*book->Find("fdk_smooth"))->settings.window, ops::FilterWindow::kHann);
  EXPECT_EQ((*book->Find("fdk_smooth"))->settings.cutoff, 0.8);
  EXPECT_EQ((*book->Find("fdk_truncated"))->settings.truncation, ops::Truncation::kCylinder);
  const Protocol& completed = **book->Find("fdk_then_completed_rows");
  EXPECT_EQ(completed.settings.truncation, ops::Truncation::kCylinder);
  EXPECT_TRUE(std::get<recon::SecondPassSettings>(completed.refinement->settings).complete_rows);
  EXPECT_EQ(book->Find("magic").status().code(), absl::StatusCode::kNotFound);
}

TEST(ProtocolBook, ASiteReplacesAndAdds) {
  const auto book = BookOf(R"(
    protocol { name: "fdk" mu_water_per_mm: 0.019 redundancy_weights: REDUNDANCY_WEIGHTS_SHORT_SCAN }
    protocol { name: "small" filter_window: FILTER_WINDOW_COSINE filter_cutoff: 0.5
               precision: PRECISION_FAST
               missing_frames { policy: MISSING_FRAMES_POLICY_REWEIGHT longest_gap: 9
                                most_missing: 0.25 }
               grid { fixed { nx: 2 ny: 3 nz: 4 spacing_x_mm: 1 spacing_y_mm: 2 spacing_z_mm: 3
                              centered: true } } }
    default_protocol: "small")");
  ASSERT_TRUE(book.ok()) << book.status();
  EXPECT_EQ(book->all().size(), 10u);
  EXPECT_EQ((*book->Find("fdk"))->settings.mu_water_per_mm, 0.019);
  EXPECT_EQ((*book->Find("fdk"))->settings.redundancy, RedundancyWeighting::kShortScan);
  const Protocol& small = **book->Find("");
  EXPECT_EQ(small.description.name(), "small");
  EXPECT_EQ(small.settings.window, ops::FilterWindow::kCosine);
  EXPECT_EQ(small.settings.precision, ops::Precision::kFast);
  EXPECT_EQ((*book->Find("fdk"))->settings.precision, ops::Precision::kExact);
  ASSERT_TRUE(small.fixed_grid.has_value());
  EXPECT_EQ(*small.fixed_grid, CenteredGrid(2, 3, 4, {1, 2, 3}));
  EXPECT_EQ(small.missing_frames,
            (jobs::MissingFrames{jobs::MissingFramesPolicy::kReweight, 9, 0.25}));
}

TEST(ProtocolBook, WhatWasResolvedMeansTheSameAgain) {
  const auto book = BookOf("");
  ASSERT_TRUE(book.ok());
  for (const auto& [name, protocol] : book->all()) {
    const auto again = ProtocolFromProto(protocol.description);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->description.SerializeAsString(), protocol.description.SerializeAsString());
    EXPECT_EQ(again->settings.window, protocol.settings.window);
    EXPECT_EQ(again->missing_frames, protocol.missing_frames);
    ASSERT_EQ(again->refinement.has_value(), protocol.refinement.has_value());
    if (protocol.refinement) {
      EXPECT_EQ(again->refinement->settings.index(), protocol.refinement->settings.index());
      EXPECT_EQ(again->refinement->deadline, protocol.refinement->deadline);
    }
  }
}

TEST(ProtocolBook, TheBooleanOfOlderVersionsIsAMethodOfTruncation) {
  const auto book = BookOf(R"(
    protocol { name: "old" corrections { extend_truncated_rows: true } }
    protocol { name: "both" corrections { extend_truncated_rows: true truncation: TRUNCATION_MIRROR } }
    protocol { name: "new" corrections { truncation: TRUNCATION_CYLINDER } }
    protocol { name: "filter" corrections { truncation: TRUNCATION_ATRACT } })");
  ASSERT_TRUE(book.ok()) << book.status();
  for (const char* name : {"old", "both"}) {
    const Protocol& mirror = **book->Find(name);
    EXPECT_EQ(mirror.settings.truncation, ops::Truncation::kMirror);
    EXPECT_TRUE(mirror.description.corrections().extend_truncated_rows());
    EXPECT_EQ(mirror.description.corrections().truncation(), v1::TRUNCATION_MIRROR);
  }
  EXPECT_EQ((*book->Find("new"))->settings.truncation, ops::Truncation::kCylinder);
  EXPECT_FALSE((*book->Find("new"))->description.corrections().extend_truncated_rows());
  EXPECT_EQ((*book->Find("filter"))->settings.truncation, ops::Truncation::kAtract);
}

TEST(ProtocolBook, AllMistakesOfAProtocolAreToldEachWithItsName) {
  const std::string told = Complaint(
      "protocol { name: 'site' filter_cutoff: 7 mu_water_per_mm: 3 "
      "missing_frames { longest_gap: 1000 most_missing: 0.9 } grid { auto { size: 5 } } "
      "refinement { algorithm: REFINEMENT_ALGORITHM_SIRT iterations: 5000 relaxation: 3 } }");
  for (const char* mistake :
       {"filter_cutoff is 7", "mu_water_per_mm is 3", "missing_frames.longest_gap is 1000",
        "missing_frames.most_missing is 0.9", "grid.auto.size is 5",
        "refinement.iterations is 5000", "refinement.relaxation is 3"}) {
    EXPECT_THAT(told, HasSubstr(absl::StrCat("protocol 'site': ", mistake)));
  }
}

TEST(ProtocolBook, MistakesAreNamed) {
  EXPECT_THAT(Complaint("protocol { name: \"a\" corrections { truncation: 9 } }"),
              HasSubstr("corrections.truncation is 9; legal is a Truncation"));
  EXPECT_THAT(Complaint("protocol { name: \"a\" corrections { extend_truncated_rows: true "
                        "truncation: TRUNCATION_ATRACT } }"),
              HasSubstr("corrections.truncation is 4 with extend_truncated_rows; legal is"));

  EXPECT_THAT(Complaint("protocol { name: \"Big Scan\" }"), HasSubstr("legal are 1 to 64"));
  EXPECT_THAT(Complaint("protocol { name: \"a\" filter_cutoff: 1.5 }"),
              HasSubstr("protocol 'a': filter_cutoff is 1.5; legal is more than 0, at most 1"));
  EXPECT_THAT(Complaint("protocol { name: \"a\" mu_water_per_mm: 0.2 }"),
              HasSubstr("mu_water_per_mm is 0.2"));
  EXPECT_THAT(Complaint("protocol { name: \"a\" precision: 7 }"),
              HasSubstr("precision is 7; legal is PRECISION_EXACT or PRECISION_FAST"));
  EXPECT_THAT(Complaint("protocol { name: \"a\" missing_frames { policy: 9 } }"),
              HasSubstr("missing_frames.policy is 9; legal is a MissingFramesPolicy"));
  EXPECT_THAT(Complaint("protocol { name: \"a\" missing_frames { longest_gap: 101 } }"),
              HasSubstr("missing_frames.longest_gap is 101; legal is 1 to 100"));
  EXPECT_THAT(Complaint("protocol { name: \"a\" missing_frames { most_missing: 0.6 } }"),
              HasSubstr("missing_frames.most_missing is 0.6; legal is more than 0, at most 0.5"));
  EXPECT_THAT(Complaint("protocol { name: \"a\" grid { auto { size: 8 } } }"),
              HasSubstr("grid.auto.size is 8; legal is 16 to 2048"));
  EXPECT_THAT(Complaint("protocol { name: \"a\" grid { fixed { nx: 1 } } }"),
              HasSubstr("grid.ny is 0"));
  EXPECT_THAT(Complaint("protocol { name: \"a\" } protocol { name: \"a\" }"),
              HasSubstr("protocol.name is 'a' in two entries"));
  EXPECT_THAT(Complaint("default_protocol: \"magic\""),
              HasSubstr("default_protocol: protocol is 'magic'"));
}

TEST(Refinement, BuiltInProtocolsRefine) {
  const auto book = BookOf("");
  ASSERT_TRUE(book.ok());
  EXPECT_FALSE((*book->Find("fdk"))->refinement);
  const auto& ossart = (*book->Find("fdk_then_ossart"))->refinement;
  ASSERT_TRUE(ossart);
  const recon::IterativeSettings& subsets = IterationsOf(**book->Find("fdk_then_ossart"));
  EXPECT_EQ(subsets.algorithm, recon::Algorithm::kOsSart);
  EXPECT_EQ(subsets.projector, ops::ProjectorModel::kJoseph);
  EXPECT_TRUE(subsets.warm_start);
  EXPECT_TRUE(subsets.matched);
  EXPECT_TRUE(subsets.non_negative);
  EXPECT_EQ(ossart->deadline, absl::InfiniteDuration());
  const recon::IterativeSettings& pwls = IterationsOf(**book->Find("fdk_then_pwls_tv"));
  EXPECT_EQ(pwls.algorithm, recon::Algorithm::kOsSqs);
  EXPECT_TRUE(pwls.statistical_weights);
  EXPECT_GT(pwls.prior_strength, 0);
  EXPECT_EQ(IterationsOf(**book->Find("fdk_then_asd_pocs")).algorithm, recon::Algorithm::kAsdPocs);
}

// No algorithm has a use for all of them.
TEST(Refinement, EveryFieldArrives) {
  const auto book = BookOf(R"(
    protocol { name: "algebra" precision: PRECISION_FAST refinement {
      algorithm: REFINEMENT_ALGORITHM_OS_SART projector: PROJECTOR_JOSEPH iterations: 7
      subsets: 3 relaxation: 0.5 relaxation_decay: 0.9 momentum: 0.25 allow_negative: true cold_start: true
      unmatched: true stop_residual: 0.01 surroundings_factor: 2 deadline_seconds: 30
      early_passes: 6 } }
    protocol { name: "likelihood" refinement {
      algorithm: REFINEMENT_ALGORITHM_OS_SQS projector: PROJECTOR_VOXEL_DRIVEN
      statistical_weights: true prior_strength: 0.25 huber_delta_per_mm: 0.001 } }
    protocol { name: "variation" refinement {
      algorithm: REFINEMENT_ALGORITHM_ASD_POCS prior_strength: 0.25 tv_steps: 4 } })");
  ASSERT_TRUE(book.ok()) << book.status();
  const auto& algebra = (*book->Find("algebra"))->refinement;
  ASSERT_TRUE(algebra);
  const recon::IterativeSettings& settings = IterationsOf(**book->Find("algebra"));
  EXPECT_EQ(settings.algorithm, recon::Algorithm::kOsSart);
  EXPECT_EQ(settings.projector, ops::ProjectorModel::kJoseph);
  EXPECT_EQ(settings.precision, ops::Precision::kFast);
  EXPECT_EQ(settings.iterations, 7);
  EXPECT_EQ(settings.subsets, 3);
  EXPECT_EQ(settings.relaxation, 0.5);
  EXPECT_EQ(settings.relaxation_decay, 0.9);
  EXPECT_EQ(settings.momentum, 0.25);
  EXPECT_FALSE(settings.non_negative);
  EXPECT_FALSE(settings.warm_start);
  EXPECT_FALSE(settings.matched);
  EXPECT_EQ(settings.stop_residual, 0.01);
  EXPECT_EQ(settings.surroundings_factor, 2);
  EXPECT_EQ(settings.early_passes, 6);
  EXPECT_EQ(algebra->deadline, absl::Seconds(30));
  const recon::IterativeSettings& likelihood = IterationsOf(**book->Find("likelihood"));
  EXPECT_EQ(likelihood.projector, ops::ProjectorModel::kVoxelDriven);
  EXPECT_TRUE(likelihood.statistical_weights);
  EXPECT_EQ(likelihood.prior_strength, 0.25);
  EXPECT_EQ(likelihood.huber_delta_per_mm, 0.001);
  EXPECT_EQ(IterationsOf(**book->Find("variation")).tv_steps, 4);
}

TEST(Refinement, MistakesAreNamed) {
  const auto complaint = [](const std::string& fields) {
    return Complaint(("protocol { name: \"a\" refinement { algorithm: "
                      "REFINEMENT_ALGORITHM_OS_SQS " +
                      fields + " } }")
                         .c_str());
  };
  EXPECT_THAT(Complaint("protocol { name: \"a\" refinement {} }"),
              HasSubstr("protocol 'a': refinement.algorithm is not set; legal is"));
  EXPECT_THAT(complaint("projector: 9"), HasSubstr("refinement.projector is 9; legal is"));
  EXPECT_THAT(complaint("iterations: 1001"),
              HasSubstr("refinement.iterations is 1001; legal is 1 to 1000"));
  EXPECT_THAT(complaint("relaxation: 2"), HasSubstr("legal is more than 0, less than 2"));
  EXPECT_THAT(complaint("relaxation_decay: 1.5"), HasSubstr("more than 0, at most 1"));
  EXPECT_THAT(complaint("momentum: 0.95"), HasSubstr("momentum is 0.95; legal is 0 to 0.9"));
  EXPECT_THAT(complaint("momentum: 0.5"), HasSubstr("momentum is not for os_sqs"));
  EXPECT_THAT(complaint("prior_strength: -1"), HasSubstr("refinement.prior_strength is -1"));
  EXPECT_THAT(complaint("huber_delta_per_mm: -1"), HasSubstr("huber_delta_per_mm is -1"));
  EXPECT_THAT(complaint("tv_steps: 1001"), HasSubstr("tv_steps is 1001; legal is 1 to 1000"));
  EXPECT_THAT(complaint("stop_residual: 2"),
              HasSubstr("stop_residual is 2; legal is 0 to less than 1"));
  EXPECT_THAT(complaint("surroundings_factor: 17"), HasSubstr("legal is 0, or 2 to 16"));
  EXPECT_THAT(complaint("early_passes: 65"),
              HasSubstr("refinement.early_passes is 65; legal is 0 to 64"));
  EXPECT_THAT(complaint("early_passes: 6"), HasSubstr("early_passes is not for os_sqs"));
  EXPECT_THAT(complaint("deadline_seconds: 604801"), HasSubstr("legal is 0 to 604800"));
  EXPECT_THAT(complaint("unmatched: true"),
              HasSubstr("refinement.unmatched is not for os_sqs; legal is sirt, sart, os_sart"));
}

TEST(Corrections, CalibrationsMayHaveToBeVerified) {
  const auto book = BookOf(R"(
    protocol { name: "strict" corrections { calibration: CALIBRATION_POLICY_REQUIRE_VERIFIED } })");
  ASSERT_TRUE(book.ok()) << book.status();
  EXPECT_EQ((*book->Find("strict"))->calibration_policy, jobs::CalibrationPolicy::kRequireVerified);
  EXPECT_THAT(Complaint("protocol { name: \"a\" corrections { calibration: 5 } }"),
              HasSubstr("CALIBRATION_POLICY_REQUIRE and CALIBRATION_POLICY_REQUIRE_VERIFIED"));
}

TEST(Refinement, ASecondPassInsteadOfIterations) {
  const auto book = BookOf(R"(
    protocol { name: "metal" refinement { second_pass { metal: true } deadline_seconds: 60 } }
    protocol { name: "both" corrections { calibration: CALIBRATION_POLICY_WARN }
               refinement { second_pass { metal: true bone: true scatter: true } } })");
  ASSERT_TRUE(book.ok()) << book.status();
  const auto& metal = (*book->FindRefinement("metal"))->refinement;
  const auto* const settings = std::get_if<recon::SecondPassSettings>(&metal->settings);
  ASSERT_NE(settings, nullptr);
  EXPECT_TRUE(settings->metal);
  EXPECT_FALSE(settings->bone);
  EXPECT_EQ(metal->deadline, absl::Seconds(60));
  const auto& both = (*book->Find("both"))->refinement->settings;
  EXPECT_TRUE(std::get<recon::SecondPassSettings>(both).bone);
  EXPECT_TRUE(std::get<recon::SecondPassSettings>(both).scatter);
  EXPECT_FALSE(settings->scatter);
  // What is kept with a job comes back as it was.
  const auto again = ProtocolFromProto((*book->Find("metal"))->description);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->description.SerializeAsString(),
            (*book->Find("metal"))->description.SerializeAsString());
}

TEST(Refinement, MistakesOfASecondPassAreNamed) {
  EXPECT_THAT(Complaint("protocol { name: \"a\" refinement { second_pass {} } }"),
              HasSubstr("refinement.second_pass is for nothing; legal is metal, bone, scatter, "
                        "cone_beam or several of them"));
  EXPECT_THAT(Complaint("protocol { name: \"a\" refinement { second_pass { metal: true } "
                        "algorithm: REFINEMENT_ALGORITHM_OS_SART iterations: 5 } }"),
              HasSubstr("refinement.second_pass is set beside 'algorithm: "
                        "REFINEMENT_ALGORITHM_OS_SART iterations: 5'; legal beside it is"));
  EXPECT_THAT(Complaint("protocol { name: \"a\" refinement { second_pass { metal: true } "
                        "deadline_seconds: -1 } }"),
              HasSubstr("refinement.deadline_seconds is -1; legal is 0 to 604800"));
  EXPECT_THAT(Complaint("protocol { name: \"a\" refinement { second_pass { bone: true } } }"),
              HasSubstr("protocol 'a': refinement.second_pass.bone is true and "
                        "corrections.calibration is CALIBRATION_POLICY_NONE; legal with it are"));
  EXPECT_THAT(Complaint("protocol { name: \"a\" refinement { second_pass { scatter: true } } }"),
              HasSubstr("protocol 'a': refinement.second_pass.scatter is true and "));
  EXPECT_THAT(
      Complaint("protocol { name: \"a\" refinement { second_pass { motion: true metal: true } } }"),
      HasSubstr("refinement.second_pass: motion is set with metal; legal is one of them"));
  EXPECT_THAT(Complaint("protocol { name: \"a\" refinement { second_pass { motion: true "
                        "self_calibrate: true } } }"),
              HasSubstr("motion is set with self_calibrate; legal is one of them"));
  EXPECT_THAT(Complaint("protocol { name: \"a\" refinement { second_pass { bone: true "
                        "self_calibrate: true } } }"),
              HasSubstr("self_calibrate is set with bone; legal is one of them"));
  EXPECT_THAT(Complaint("protocol { name: \"a\" refinement { second_pass { metal: true "
                        "complete_rows: true } } }"),
              HasSubstr("complete_rows is set with metal; legal is one of them"));
  EXPECT_THAT(Complaint("protocol { name: \"a\" refinement { second_pass { motion: true "
                        "complete_rows: true } } }"),
              HasSubstr("motion is set with complete_rows; legal is one of them"));
}

// Of which job a volume is an earlier one is known only when a job is refined.
TEST(Refinement, AProtocolNamesNoJobAsAReference) {
  EXPECT_THAT(
      Complaint("protocol { name: \"a\" refinement { second_pass { self_calibrate: true "
                "reference_job_id: \"job-1\" } } }"),
      HasSubstr("protocol 'a': refinement.second_pass.reference_job_id is 'job-1'; legal is "
                "none in a protocol: `isocenter refine JOB --self-calibrate --reference "
                "JOB2` names one"));
  EXPECT_THAT(Complaint("protocol { name: \"a\" refinement { second_pass { motion: true "
                        "reference_job_id: \"job-1\" } } }"),
              HasSubstr("refinement.second_pass.reference_job_id is 'job-1'; legal is none without "
                        "self_calibrate"));
}

TEST(Refinement, MotionIsASecondPassOfItsOwn) {
  const auto book =
      BookOf("protocol { name: \"still\" refinement { second_pass { motion: true } } }");
  ASSERT_TRUE(book.ok()) << book.status();
  const auto& settings = (*book->FindRefinement("still"))->refinement->settings;
  EXPECT_TRUE(std::get<recon::SecondPassSettings>(settings).motion);
  EXPECT_FALSE(std::get<recon::SecondPassSettings>(settings).metal);
}

TEST(Refinement, OnlyProtocolsThatHaveOneRefine) {
  const auto book = BookOf("");
  ASSERT_TRUE(book.ok());
  EXPECT_TRUE(book->FindRefinement("fdk_then_ossart").ok());
  EXPECT_EQ(book->FindRefinement("magic").status().code(), absl::StatusCode::kNotFound);
  const absl::Status none = book->FindRefinement("fdk").status();
  EXPECT_EQ(none.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(none.message()),
              HasSubstr("'fdk', which has no refinement; legal are: fdk_then_asd_pocs, "
                        "fdk_then_completed_rows, fdk_then_ossart, fdk_then_pwls_tv"));
}

}  // namespace
}  // namespace isocenter::config
