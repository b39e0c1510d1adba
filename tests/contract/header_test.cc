// Each illegal header is refused at once, with field, value and what is legal.

#include <cmath>
#include <limits>

#include "tests/contract/captured_log.h"
#include "tests/contract/contract_fixture.h"

namespace isocenter::testing {
namespace {

using grpc::StatusCode;

class HeaderTest : public ContractTest {
 protected:
  void TearDown() override {
    // Nothing of a refused acquisition remains.
    EXPECT_EQ(service_.slot().memory.used(), 0);
    EXPECT_TRUE(service_.store.jobs().empty());
  }
};

TEST_F(HeaderTest, Detector) {
  EXPECT_THAT(Refusal([](auto& h) { h.mutable_detector()->set_columns(0); }),
              Invalid({"detector.columns is 0", "legal is 1 to 8192"}));
  EXPECT_THAT(Refusal([](auto& h) { h.mutable_detector()->set_rows(4294967295u); }),
              Invalid({"detector.rows is 4294967295", "1 to 8192"}));
  EXPECT_THAT(Refusal([](auto& h) { h.mutable_detector()->set_pitch_u_mm(0); }),
              Invalid({"pitch_u_mm is 0", "to 10"}));
  EXPECT_THAT(Refusal([](auto& h) { h.mutable_detector()->set_pitch_v_mm(std::nan("")); }),
              Invalid({"pitch_v_mm is nan"}));
  EXPECT_THAT(Refusal([](auto& h) { h.clear_detector(); }), Invalid({"detector.columns is 0"}));
  EXPECT_THAT(Refusal([](auto& h) {
                h.mutable_detector()->set_columns(8192);
                h.mutable_detector()->set_rows(8192);
              }),
              Invalid({"detector is 8192x8192", "268439552 bytes", "at most 71303168"}));
}

TEST_F(HeaderTest, PixelTypeAndIntensity) {
  EXPECT_THAT(Refusal([](auto& h) { h.clear_pixel_type(); }),
              Invalid({"pixel_type is 0", "PIXEL_TYPE_UINT16_COUNTS"}));
  EXPECT_THAT(Refusal([](auto& h) { h.set_pixel_type(static_cast<v1::PixelType>(77)); }),
              Invalid({"pixel_type is 77"}));
  for (const double i0 : {0., -5., 65536., std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(Refusal([&](auto& h) {
                  h.set_pixel_type(v1::PIXEL_TYPE_UINT16_COUNTS);
                  h.set_i0_counts(i0);
                }),
                Invalid({"i0_counts is", "1 to 65535"}));
  }
}

TEST_F(HeaderTest, Scheduling) {
  EXPECT_THAT(Refusal([](auto& h) { h.set_job_class(static_cast<v1::JobClass>(9)); }),
              Invalid({"job_class is 9", "a JobClass of this version"}));
  for (const double seconds : {-1., 604801., std::nan("")}) {
    EXPECT_THAT(Refusal([&](auto& h) { h.set_deadline_seconds(seconds); }),
                Invalid({"deadline_seconds is", "0 to 604800"}));
  }
  for (const double rate : {-1., 10001., std::nan("")}) {
    EXPECT_THAT(Refusal([&](auto& h) { h.set_frame_rate_hz(rate); }),
                Invalid({"frame_rate_hz is", "0 to 10000"}));
  }
}

TEST_F(HeaderTest, Pair) {
  EXPECT_THAT(Refusal([](auto& h) { h.mutable_pair()->set_role(v1::PAIR_ROLE_MASK); }),
              Invalid({"pair.pair_id is \"\"", "1 to 64 characters"}));
  EXPECT_THAT(Refusal([](auto& h) {
                h.mutable_pair()->set_pair_id("a/b");
                h.mutable_pair()->set_role(v1::PAIR_ROLE_MASK);
              }),
              Invalid({"pair.pair_id is 'a/b'"}));
  for (const auto role : {v1::PAIR_ROLE_UNSPECIFIED, v1::PAIR_ROLE_SUBTRACTION}) {
    EXPECT_THAT(Refusal([&](auto& h) {
                  h.mutable_pair()->set_pair_id("p");
                  h.mutable_pair()->set_role(role);
                }),
                Invalid({"pair.role is", "PAIR_ROLE_MASK or PAIR_ROLE_FILL"}));
  }
}

TEST_F(HeaderTest, FrameCount) {
  EXPECT_THAT(Refusal([](auto& h) { h.set_frame_count(0); }),
              Invalid({"frame_count is 0", "1 to 10000"}));
  EXPECT_THAT(Refusal([](auto& h) { h.set_frame_count(4294967295u); }),
              Invalid({"frame_count is 4294967295", "1 to 10000"}));
  EXPECT_THAT(Refusal([](auto& h) {
                ListMatrices(h);
                h.set_frame_count(41);
              }),
              Invalid({"matrices.matrix is a list of 40", "one matrix per frame, 41"}));
}

TEST_F(HeaderTest, Matrices) {
  const auto with_matrix = [&](int view, const std::function<void(v1::ProjectionMatrix&)>& spoil) {
    return Refusal([&](auto& h) {
      ListMatrices(h);
      spoil(*h.mutable_matrices()->mutable_matrix(view));
    });
  };
  EXPECT_THAT(with_matrix(7, [](auto& m) { m.mutable_value()->RemoveLast(); }),
              Invalid({"matrices.matrix[7]", "11 values", "12"}));
  EXPECT_THAT(with_matrix(8, [](auto& m) { m.set_value(3, std::nan("")); }),
              Invalid({"matrices.matrix[8]", "finite"}));
  EXPECT_THAT(with_matrix(9,
                          [](auto& m) {  // two equal rows
                            for (int i = 0; i < 4; ++i) m.set_value(4 + i, m.value(i));
                          }),
              Invalid({"matrices.matrix[9]", "singular"}));
  // The isocentre behind the source: the sign of w turns when the source moves through it.
  EXPECT_THAT(with_matrix(10,
                          [](auto& m) {
                            for (int i = 3; i < 12; i += 4) m.set_value(i, -m.value(i));
                          }),
              Invalid({"matrices.matrix[10]", "not in front of the source"}));
}

TEST_F(HeaderTest, Trajectory) {
  EXPECT_THAT(Refusal([](auto& h) { h.clear_circular(); }),
              Invalid({"trajectory is unset", "matrices, circular, or a station"}));
  EXPECT_THAT(Refusal([](auto& h) { h.mutable_circular()->set_source_to_isocenter_mm(0); }),
              Invalid({"source_to_isocenter_mm"}));
  EXPECT_THAT(Refusal([](auto& h) { h.mutable_circular()->set_source_to_detector_mm(700); }),
              Invalid({"source_to_detector_mm"}));
  EXPECT_THAT(Refusal([](auto& h) { h.mutable_circular()->set_arc_deg(std::nan("")); }),
              Invalid({"arc"}));
  // Half a circle lacks the fan angle.
  EXPECT_THAT(Refusal([](auto& h) { h.mutable_circular()->set_arc_deg(180); }), Invalid({"arc"}));
}

TEST_F(HeaderTest, TooShortForTheProtocol) {
  server_.reset();
  StartServer([](v1::ServerConfig& config) {
    v1::ReconstructionProtocol& protocol = *config.add_protocol();
    protocol.set_name("full");
    protocol.set_redundancy_weights(v1::REDUNDANCY_WEIGHTS_FULL_SCAN);
  });
  EXPECT_THAT(Refusal([](auto& h) {
                h.set_protocol("full");
                h.mutable_circular()->set_arc_deg(220);
              }),
              Invalid({"arc"}));
}

TEST_F(HeaderTest, Grid) {
  EXPECT_THAT(Refusal([](auto& h) { h.mutable_grid()->set_nx(0); }),
              Invalid({"grid.nx is 0", "1 to 4096"}));
  EXPECT_THAT(Refusal([](auto& h) { h.mutable_grid()->set_nz(4294967295u); }),
              Invalid({"grid.nz is 4294967295", "1 to 4096"}));
  EXPECT_THAT(Refusal([](auto& h) { h.mutable_grid()->set_spacing_y_mm(0); }),
              Invalid({"grid.spacing_y_mm is 0", "0.0001 to 100"}));
  EXPECT_THAT(Refusal([](auto& h) {
                h.mutable_grid()->set_centered(false);
                h.mutable_grid()->set_origin_x_mm(std::nan(""));
              }),
              Invalid({"grid.origin_x_mm is nan"}));
  EXPECT_THAT(Refusal([](auto& h) { h.mutable_grid()->set_origin_x_mm(5); }),
              Invalid({"grid.origin", "unset when grid.centered"}));
  EXPECT_THAT(Refusal([](auto& h) { h.mutable_grid()->add_direction(1); }),
              Invalid({"grid.direction has 1 values", "9"}));
  EXPECT_THAT(Refusal([](auto& h) {
                for (const double value : {2., 0., 0., 0., 1., 0., 0., 0., 1.}) {
                  h.mutable_grid()->add_direction(value);
                }
              }),
              Invalid({"grid.direction", "1 (unit length)"}));
}

TEST_F(HeaderTest, MoreThanTheMemory) {
  const auto status = Refusal([](auto& h) {
    for (const auto set :
         {&v1::VolumeGrid::set_nx, &v1::VolumeGrid::set_ny, &v1::VolumeGrid::set_nz}) {
      (h.mutable_grid()->*set)(4096);
    }
    h.mutable_grid()->set_spacing_x_mm(0.1);
  });
  EXPECT_THAT(status, Refused(StatusCode::RESOURCE_EXHAUSTED,
                              std::vector<const char*>({"iB of memory", "of 64 MiB"})));
}

TEST_F(HeaderTest, UnknownProtocol) {
  EXPECT_THAT(Refusal([](auto& h) { h.set_protocol("magic"); }),
              Refused(StatusCode::NOT_FOUND,
                      std::vector<const char*>({"protocol is 'magic'", "fdk", "fdk_smooth"})));
}

TEST_F(HeaderTest, PatientAndStudy) {
  const auto with_study = [&](const std::function<void(v1::PatientStudy&)>& spoil) {
    return Refusal([&](auto& h) { spoil(*h.mutable_patient_study()); });
  };
  const std::string long_text(65, 'x');
  EXPECT_THAT(with_study([&](auto& s) { s.set_patient_name(long_text); }),
              Invalid({"patient_study.patient_name", "at most 64 characters"}));
  EXPECT_THAT(with_study([](auto& s) { s.set_patient_name("a=b=c=d"); }),
              Invalid({"patient_name is 'a=b=c=d'", "at most 3 groups"}));
  EXPECT_THAT(with_study([](auto& s) { s.set_patient_name("a^b^c^d^e^f"); }),
              Invalid({"patient_name is 'a^b^c^d^e^f'", "at most 5 components separated by '^'"}));
  EXPECT_THAT(with_study([](auto& s) { s.set_patient_name("line\nbreak"); }),
              Invalid({"patient_name", "control characters"}));
  EXPECT_THAT(with_study([&](auto& s) { s.set_patient_id(long_text); }),
              Invalid({"patient_id", "at most 64 characters"}));
  EXPECT_THAT(with_study([](auto& s) { s.set_patient_id("a\\b"); }), Invalid({"backslash"}));
  for (const char* date : {"2026", "20260230", "2026-1-1", "00000000"}) {
    EXPECT_THAT(with_study([&](auto& s) { s.set_patient_birth_date(date); }),
                Invalid({"patient_birth_date is '", date, "YYYYMMDD"}));
    EXPECT_THAT(with_study([&](auto& s) { s.set_study_date(date); }), Invalid({"study_date"}));
  }
  EXPECT_THAT(with_study([](auto& s) { s.set_patient_sex("X"); }),
              Invalid({"patient_sex is 'X'", "\"M\""}));
  for (const char* uid : {"1", "1..2", "1.02.3", "1.2.a", ".1.2", "1.2."}) {
    EXPECT_THAT(with_study([&](auto& s) { s.set_study_instance_uid(uid); }),
                Invalid({"study_instance_uid is '", uid, "DICOM UID"}));
  }
  EXPECT_THAT(with_study([](auto& s) { s.set_accession_number("12345678901234567"); }),
              Invalid({"accession_number", "at most 16 characters"}));
  EXPECT_THAT(with_study([](auto& s) { s.set_study_id("12345678901234567"); }),
              Invalid({"study_id", "at most 16 characters"}));
  EXPECT_THAT(with_study([](auto& s) { s.set_study_time("246060"); }),
              Invalid({"study_time is '246060'", "HHMMSS"}));
  EXPECT_THAT(with_study([&](auto& s) { s.set_referring_physician_name(long_text); }),
              Invalid({"referring_physician_name"}));
  EXPECT_THAT(with_study([&](auto& s) { s.set_study_description(std::string(1 << 20, 'y')); }),
              Invalid({"study_description", "(1048576 bytes)", "at most 64"}));
}

TEST_F(HeaderTest, NamesAndNumbersBesides) {
  EXPECT_THAT(Refusal([](auto& h) { h.set_station_name("room 1"); }),
              Invalid({"station_name is 'room 1'", "[A-Za-z0-9_.-]"}));
  EXPECT_THAT(Refusal([](auto& h) { h.set_request_id(std::string(65, 'a')); }),
              Invalid({"request_id", "at most 64"}));
  for (const char* id : {"../../etc", "..", "a b", ""}) {
    const std::string whole = *id == 0 ? std::string(65, 'a') : id;
    EXPECT_THAT(Refusal([&](auto& h) { h.set_continues_job_id(whole); }),
                Invalid({"continues_job_id", "1 to 64 of [A-Za-z0-9_.-]"}));
  }
  EXPECT_THAT(Refusal([](auto& h) { h.set_tube_voltage_kv(-1); }),
              Invalid({"tube_voltage_kv is -1", "0 (unknown) or 10 to 300 kV"}));
  EXPECT_THAT(Refusal([](auto& h) { h.set_body_part_examined("head"); }),
              Invalid({"body_part_examined is 'head'", "[A-Z0-9_ ]"}));
  EXPECT_THAT(Refusal([](auto& h) { h.set_patient_position("HFU"); }),
              Invalid({"patient_position is 'HFU'", "HFS, HFP", "FFDL"}));
  EXPECT_THAT(Refusal([](auto& h) { h.set_series_description(std::string(65, 'a')); }),
              Invalid({"series_description", "at most 64"}));
}

TEST_F(HeaderTest, OtherUnitsThanTheseAreRefused) {
  for (const double megavolts_or_volts : {0.109, 109000.}) {
    EXPECT_THAT(Refusal([&](auto& h) { h.set_tube_voltage_kv(megavolts_or_volts); }),
                Invalid({"tube_voltage_kv is ", "legal is 0 (unknown) or 10 to 300 kV"}));
  }
  const auto arm = [](double isocenter, double detector) {
    return [=](auto& h) {
      h.mutable_circular()->set_source_to_isocenter_mm(isocenter);
      h.mutable_circular()->set_source_to_detector_mm(detector);
    };
  };
  // Metres, centimetres, and one of each.
  EXPECT_THAT(Refusal(arm(0.75, 1.2)),
              Invalid({"circular.source_to_isocenter_mm is 0.75; legal is 100 to 10000 mm"}));
  EXPECT_THAT(Refusal(arm(75, 120)),
              Invalid({"circular.source_to_isocenter_mm is 75; legal is 100 to 10000 mm"}));
  EXPECT_THAT(Refusal(arm(750, 1.2)),
              Invalid({"circular.source_to_detector_mm is 1.2; legal is above "
                       "source_to_isocenter_mm (750) up to 10 times that, in mm"}));
  EXPECT_THAT(Refusal(arm(750, 12000)), Invalid({"circular.source_to_detector_mm is 12000"}));
}

// Who mends one mistake should not learn of the next by another refusal.
TEST_F(HeaderTest, AllMistakesAreToldAtOnce) {
  const auto wrong = [](auto& h) {
    h.mutable_patient_study()->set_patient_sex("W");
    h.mutable_patient_study()->set_study_date("1.3.2026");
    h.set_station_name("room 1");
    h.set_tube_voltage_kv(0.109);
    h.set_frame_rate_hz(-1);
    h.mutable_detector()->set_columns(0);
    h.mutable_circular()->set_source_to_isocenter_mm(75);
    h.mutable_grid()->set_nx(0);
  };
  const CapturedLog log;
  EXPECT_THAT(Refusal(wrong),
              Invalid({"patient_sex is", "study_date is", "station_name is 'room 1'",
                       "tube_voltage_kv is 0.109", "frame_rate_hz is -1", "columns is 0",
                       "source_to_isocenter_mm is 75", "grid.nx is 0"}));
  // One of them may identify a patient, so none of it is written down.
  EXPECT_THAT(log.text(), ::testing::Not(::testing::HasSubstr("room 1")));
}

TEST_F(HeaderTest, AProtocolThatThereIsNotIsToldWithTheRest) {
  EXPECT_THAT(Refusal([](auto& h) {
                h.set_protocol("FDK");
                h.mutable_patient_study()->set_patient_birth_date("1960");
                h.set_pixel_type(v1::PIXEL_TYPE_UINT16_COUNTS);
                h.set_i0_counts(70000);
                h.mutable_detector()->set_columns(0);
                h.mutable_detector()->set_pitch_v_mm(0);
                h.mutable_grid()->set_nx(0);
                h.mutable_grid()->set_spacing_y_mm(0);
              }),
              Invalid({"protocol is 'FDK'", "did you mean fdk?", "patient_birth_date is '1960'",
                       "i0_counts is 70000; legal is 1 to 65535", "detector.columns is 0",
                       "detector.pitch_v_mm is 0; legal is 0.0001 to 10", "grid.nx is 0",
                       "grid.spacing_y_mm is 0"}));
}

TEST_F(HeaderTest, ATrajectoryThatThereIsNotIsToldWithTheRest) {
  EXPECT_THAT(Refusal([](auto& h) {
                h.clear_circular();
                h.set_frame_rate_hz(-1);
                h.mutable_detector()->set_columns(0);
              }),
              Invalid({"frame_rate_hz is -1", "detector.columns is 0"}));
  EXPECT_THAT(Refusal([](auto& h) {
                h.clear_circular();
                h.set_frame_rate_hz(-1);
              }),
              Invalid({"frame_rate_hz is -1", "trajectory is unset"}));
}

TEST_F(HeaderTest, AnArcInRadiansIsAskedAbout) {
  EXPECT_THAT(Refusal([](auto& h) { h.mutable_circular()->set_arc_deg(-3.84); }),
              Invalid({"circular.arc_deg is -3.84; legal is", "was it given in radians?",
                       "These are -220.016 degrees"}));
  EXPECT_THAT(Refusal([](auto& h) { h.mutable_circular()->set_arc_deg(721); }),
              Invalid({"circular.arc_deg is 721; legal is the turn of the arm, -720 to 720"}));
}

TEST_F(HeaderTest, TooLongAMessage) {
  // Larger than any header may be, but below the limit of gRPC messages.
  EXPECT_THAT(Refusal([](auto& h) { h.set_series_description(std::string(5 << 20, 'a')); }),
              Invalid({"the message has", "legal is at most 2097152"}));
  // Above the limit of gRPC messages.
  EXPECT_EQ(
      Refusal([](auto& h) { h.set_series_description(std::string(80 << 20, 'a')); }).error_code(),
      StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(HeaderTest, RefusalsAreCounted) {
  Refusal([](auto& h) { h.set_frame_count(0); });
  EXPECT_EQ(service_.observer.count("refused INVALID_ARGUMENT"), 1);
}

// Nobody is at the table of a job that is not there: an operator who is told of it looks for a
// fault of the node.
TEST_F(HeaderTest, AMistypedJobIsNoRefusedAcquisition) {
  v1::AcquireRequest resume;
  resume.mutable_resume()->set_job_id("20260101T000000-00000000");
  EXPECT_EQ(Acquire({resume}).status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(service_.observer.count("refused NOT_FOUND"), 0);
}

}  // namespace
}  // namespace isocenter::testing
