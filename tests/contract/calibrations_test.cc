// CalibrationService through the wire: what is kept, what strangers' sets come to, and what
// acquisitions get of it.
#include <cmath>
#include <filesystem>

#include "isocenter/v1/calibration_service.grpc.pb.h"
#include "proto/wire/acquisition.h"
#include "proto/wire/calibration_file.h"
#include "proto/wire/verification.h"
#include "server/calibrations/store.h"
#include "tests/contract/contract_fixture.h"
#include "tests/proto/wire/legal_calibration.h"
#include "tests/server/fakes/kept_events.h"

namespace isocenter::testing {
namespace {

using grpc::StatusCode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Detector kDetector{.columns = 36, .rows = 28, .pitch_u_mm = 8, .pitch_v_mm = 8};

class CalibrationContractTest : public ContractTest {
 protected:
  void SetUp() override { Serve(); }
  void TearDown() override {
    server_.reset();
    node_.reset();
    service_.Stop();
  }
  void Serve(const std::function<void(v1::ServerConfig&)>& change = nullptr) {
    server_.reset();
    service_.Stop();
    store_.reset();
    store_ = *calibrations::Store::Open({.directory = service_.directory.path() / "calibrations"});
    partners_.calibrations = store_.get();
    service_.options.calibrations = store_.get();
    service_.Start();
    service_.engine->Recover();
    StartServer([&](v1::ServerConfig& config) {
      v1::ReconstructionProtocol& protocol = *config.add_protocol();
      protocol.set_name("calibrated");
      protocol.mutable_corrections()->set_calibration(v1::CALIBRATION_POLICY_REQUIRE);
      if (change) change(config);
    });
    stub_ = v1::CalibrationService::NewStub(channel_);
  }

  /// Of the acquisition's detector, valid now.
  static v1::CalibrationSet SetNamed(const std::string& name) {
    ops::Calibration calibration = wire::FullCalibration(kDetector);
    calibration.name = name;
    v1::CalibrationSet set = wire::ToProto(calibration);
    set.set_station_name("room-1");
    wire::SetTime(absl::Now() - absl::Hours(1), *set.mutable_valid_from());
    wire::SetTime(absl::Now() + absl::Hours(1), *set.mutable_valid_until());
    return set;
  }
  /// The same with a scan of water that came out as water.
  static v1::CalibrationSet Verified(const std::string& name) {
    v1::CalibrationSet set = SetNamed(name);
    v1::Verification& seen = *set.mutable_verification();
    wire::SetTime(absl::Now(), *seen.mutable_time());
    seen.set_diameter_mm(200);
    seen.set_tolerance_hu(10);
    seen.set_water_hu(2);
    seen.set_air_hu(-1000);
    wire::SetVerifiedParts(set);
    return set;
  }
  static v1::AddCalibrationRequest First(const std::string& name, uint64_t file_bytes) {
    v1::AddCalibrationRequest request;
    request.set_name(name);
    request.set_file_bytes(file_bytes);
    return request;
  }

  grpc::Status Send(const std::vector<v1::AddCalibrationRequest>& requests,
                    v1::KeptCalibration* kept = nullptr) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::KeptCalibration ignored;
    const auto writer = stub_->AddCalibration(&context, kept == nullptr ? &ignored : kept);
    for (const auto& request : requests) {
      if (!writer->Write(request)) break;
    }
    writer->WritesDone();
    return writer->Finish();
  }
  grpc::Status AddFile(const std::string& name, const std::string& file,
                       v1::KeptCalibration* kept = nullptr) {
    std::vector<v1::AddCalibrationRequest> requests = {First(name, file.size())};
    for (size_t at = 0; at < file.size(); at += 3000) {
      requests.emplace_back().set_data(file.substr(at, 3000));
    }
    return Send(requests, kept);
  }
  grpc::Status AddSet(const v1::CalibrationSet& set, v1::KeptCalibration* kept = nullptr) {
    return AddFile(set.name(), wire::CalibrationFile(set), kept);
  }
  std::vector<std::string> Names(bool withdrawn = false, const std::string& station = "") {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::ListCalibrationsRequest request;
    request.set_withdrawn(withdrawn);
    request.set_station_name(station);
    v1::ListCalibrationsResponse response;
    EXPECT_TRUE(stub_->ListCalibrations(&context, request, &response).ok());
    std::vector<std::string> names;
    for (const auto& each : response.calibration()) names.push_back(each.label().name());
    return names;
  }
  grpc::Status Get(const std::string& name, std::string& file) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::GetCalibrationRequest request;
    request.set_name(name);
    const auto reader = stub_->GetCalibration(&context, request);
    for (v1::GetCalibrationResponse response; reader->Read(&response);) file += response.data();
    return reader->Finish();
  }
  grpc::Status Withdraw(const std::string& name) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::WithdrawCalibrationRequest request;
    request.set_name(name);
    v1::KeptCalibration kept;
    return stub_->WithdrawCalibration(&context, request, &kept);
  }
  bool IsBeingAdded() const {
    return std::filesystem::exists(service_.directory.path() / "calibrations/incoming.part");
  }
  /// Nothing of what was refused is left.
  void ExpectNothingKept() {
    EXPECT_THAT(Names(true), IsEmpty());
    EXPECT_TRUE(Eventually([&] { return !IsBeingAdded(); }));
    EXPECT_TRUE(Eventually([&] { return service_.slot().host_memory.used() == 0; }));
  }

  static v1::AcquisitionHeader CountsHeader() {
    v1::AcquisitionHeader header = SmallHeader();
    header.set_protocol("calibrated");
    header.set_pixel_type(v1::PIXEL_TYPE_UINT16_COUNTS);
    header.set_i0_counts(60000);
    header.set_detector_mode("");
    return header;
  }

  std::unique_ptr<calibrations::Store> store_;
  std::unique_ptr<v1::CalibrationService::Stub> stub_;
};

TEST_F(CalibrationContractTest, WhatIsAddedIsListedGotAndWithdrawn) {
  const v1::CalibrationSet set = SetNamed("a");
  v1::KeptCalibration kept;
  const grpc::Status added = AddSet(set, &kept);
  ASSERT_TRUE(added.ok()) << added.error_message();
  EXPECT_EQ(kept.label().name(), "a");
  EXPECT_FALSE(kept.label().has_response());
  EXPECT_EQ(kept.part_size(), 11);
  EXPECT_TRUE(AddSet(set).ok());  // again: the same
  EXPECT_THAT(Names(), ElementsAre("a"));
  EXPECT_THAT(Names(false, "room-2"), IsEmpty());
  std::string file;
  EXPECT_TRUE(Get("a", file).ok());
  EXPECT_EQ(file, wire::CalibrationFile(set));
  EXPECT_TRUE(Withdraw("a").ok());
  EXPECT_TRUE(Withdraw("a").ok());
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_THAT(Names(true), ElementsAre("a"));
  EXPECT_TRUE(Get("a", file).ok());
  EXPECT_EQ(Withdraw("b").error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(Get("b", file).error_code(), StatusCode::NOT_FOUND);
}

TEST_F(CalibrationContractTest, ChangesAreInTheAuditTrail) {
  KeptEvents events;
  partners_.audit = &events;
  Serve();
  EXPECT_TRUE(AddSet(SetNamed("a")).ok());
  EXPECT_FALSE(AddFile("a", "no set, and too short for one").ok());
  EXPECT_TRUE(Withdraw("a").ok());
  Names();
  std::vector<std::string> details;
  for (const audit::Event& event : events.Of(audit::Action::kCalibration)) {
    details.push_back(event.detail);
  }
  EXPECT_THAT(details,
              ElementsAre("add 'a'", ::testing::StartsWith("add 'a': DATA_LOSS"), "withdraw 'a'"));
  server_.reset();
}

TEST_F(CalibrationContractTest, HostileSetsAreRefusedAndLeaveNothing) {
  const auto refused = [&](const std::function<void(v1::CalibrationSet&)>& spoil) {
    v1::CalibrationSet set = SetNamed("a");
    spoil(set);
    return AddSet(set);
  };
  EXPECT_THAT(refused([](auto& s) { s.mutable_detector()->set_columns(37); }),
              Invalid({"response.offset_counts is 4032 bytes", "4144"}));
  EXPECT_THAT(
      refused([](auto& s) { s.mutable_response()->mutable_air_counts()->replace(8, 4, 4, '\0'); }),
      Invalid({"air_counts of column 2, row 0 is 0", "1 to 65535"}));
  EXPECT_THAT(refused([](auto& s) {
                s.mutable_response()->mutable_offset_counts()->replace(0, 4, "\xff\xff\xff\x7f");
              }),
              Invalid({"offset_counts of column 0, row 0 is nan"}));
  EXPECT_THAT(refused([](auto& s) { s.mutable_defects()->mutable_pixel()->Resize(1'000'000, 1); }),
              Invalid({"defects.pixel is a list of 1000000", "at most 100"}));
  EXPECT_THAT(refused([](auto& s) { s.clear_valid_until(); }), Invalid({"valid_until is unset"}));
  const auto verified = [&](const std::function<void(v1::CalibrationSet&)>& spoil) {
    v1::CalibrationSet set = Verified("a");
    spoil(set);
    return AddSet(set);
  };
  // A planted number in a set that was verified without it.
  EXPECT_THAT(verified([](auto& s) { s.mutable_water()->set_coefficient(1, 0.03); }),
              Invalid({"verification.part is of another water"}));
  EXPECT_THAT(verified([](auto& s) { s.mutable_verification()->clear_part(); }),
              Invalid({"verification.part is a list of 0", "1 to 16"}));
  EXPECT_THAT(verified([](auto& s) { s.mutable_verification()->set_water_hu(NAN); }),
              Invalid({"verification.water_hu is nan", "-10 to 10"}));
  EXPECT_THAT(AddFile("b", wire::CalibrationFile(SetNamed("a"))), Invalid({"name is 'b'", "'a'"}));
  EXPECT_THAT(AddFile("../a", wire::CalibrationFile(SetNamed("../a"))), Invalid({"name is"}));
  EXPECT_THAT(AddFile("", "0123456789012345678901234567890"), Invalid({"name is"}));
  EXPECT_EQ(AddFile("a", std::string(5000, 'x')).error_code(), StatusCode::DATA_LOSS);
  ExpectNothingKept();
}

TEST_F(CalibrationContractTest, OneNameIsOneSet) {
  ASSERT_TRUE(AddSet(SetNamed("a")).ok());
  v1::CalibrationSet other = SetNamed("a");
  other.set_description("another one");
  EXPECT_EQ(AddSet(other).error_code(), StatusCode::ALREADY_EXISTS);
  std::string file;
  EXPECT_TRUE(Get("a", file).ok());
  EXPECT_NE(file, wire::CalibrationFile(other));
}

TEST_F(CalibrationContractTest, ClaimsAndMessagesAreBounded) {
  EXPECT_THAT(Send({First("a", 0)}), Invalid({"file_bytes is 0", "25 to 587202560"}));
  EXPECT_THAT(Send({First("a", uint64_t{1} << 60)}), Invalid({"file_bytes is", "587202560"}));
  EXPECT_THAT(Send({First("a", 100)}), Invalid({"data has 0 bytes", "file_bytes, 100"}));
  v1::AddCalibrationRequest more;
  more.set_data(std::string(101, 'x'));
  EXPECT_THAT(Send({First("a", 100), more}), Invalid({"data has 101 bytes in all"}));
  EXPECT_THAT(Send({First("a", 100), v1::AddCalibrationRequest()}), Invalid({"data is no bytes"}));
  more.set_data(std::string(4 << 20, 'x'));
  EXPECT_THAT(Send({First("a", 100 << 20), more}),
              Invalid({"the request has 41943", "at most 1052672"}));
  EXPECT_THAT(Send({more}), Invalid({"the request has 41943", "at most 1052672"}));
  EXPECT_EQ(Send({}).error_code(), StatusCode::INVALID_ARGUMENT);
  ExpectNothingKept();
}

TEST_F(CalibrationContractTest, AFullDiskRefusesWithTheBytes) {
  ASSERT_TRUE(AddSet(SetNamed("a")).ok());
  service_.results.SetFreeBytes(100);
  EXPECT_THAT(AddSet(SetNamed("b")),
              Refused(StatusCode::RESOURCE_EXHAUSTED, std::vector<const char*>{"100", "bytes"}));
  EXPECT_THAT(Names(), ElementsAre("a"));
  EXPECT_FALSE(IsBeingAdded());
}

TEST_F(CalibrationContractTest, WhoStopsSendingIsLeftAndWhoLeavesKeepsNobodyOut) {
  Serve([](v1::ServerConfig& config) { config.mutable_limits()->set_idle_stream_seconds(1); });
  const std::string file = wire::CalibrationFile(SetNamed("a"));
  v1::KeptCalibration kept;
  grpc::ClientContext context;
  SetDeadline(context);
  const auto writer = stub_->AddCalibration(&context, &kept);
  ASSERT_TRUE(writer->Write(First("a", file.size())));
  ASSERT_TRUE(Eventually([&] { return IsBeingAdded(); }));
  grpc::ClientContext second;
  SetDeadline(second);
  const auto refused = stub_->AddCalibration(&second, &kept);
  refused->Write(First("b", file.size()));
  EXPECT_EQ(refused->Finish().error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(TrailerOf(second, "isocenter-try-again"), "later");
  EXPECT_EQ(writer->Finish().error_code(), StatusCode::DEADLINE_EXCEEDED);
  {
    grpc::ClientContext left;
    const auto gone = stub_->AddCalibration(&left, &kept);
    ASSERT_TRUE(gone->Write(First("a", file.size())));
    ASSERT_TRUE(Eventually([&] { return IsBeingAdded(); }));
    left.TryCancel();
    EXPECT_EQ(gone->Finish().error_code(), StatusCode::CANCELLED);
  }
  EXPECT_TRUE(Eventually([&] { return AddFile("a", file).ok(); }));
}

TEST_F(CalibrationContractTest, RequiredBeforeTheExposureThenUsedAndRecorded) {
  const std::vector<const char*> why = {"protocol 'calibrated' requires a calibration",
                                        "no calibration of station 'room-1' is kept"};
  const Answer refused = Acquire({HeaderMessage(CountsHeader())});
  EXPECT_EQ(refused.accepted(), nullptr);
  EXPECT_THAT(refused.status, Refused(StatusCode::FAILED_PRECONDITION, why));
  const auto quote = [&] {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::QuoteAcquisitionRequest request;
    *request.mutable_header() = CountsHeader();
    v1::AcquisitionQuote response;
    return acquisitions_->QuoteAcquisition(&context, request, &response);
  };
  EXPECT_THAT(quote(), Refused(StatusCode::FAILED_PRECONDITION, why));

  v1::KeptCalibration kept;
  ASSERT_TRUE(AddSet(SetNamed("a"), &kept).ok());
  EXPECT_TRUE(quote().ok()) << quote().error_message();
  const auto call = Begin(HeaderMessage(CountsHeader()));
  const v1::Job job = GetJob(call->job_id);
  EXPECT_EQ(job.calibration().name(), "a");
  EXPECT_EQ(job.calibration().crc32c(), kept.crc32c());
  call->Break();

  // The record with the frames says it, too.
  ASSERT_TRUE(Withdraw("a").ok());
  RestartService();
  EXPECT_EQ(GetJob(call->job_id).calibration().name(), "a");
  const auto spooled = service_.spool->Open(call->job_id);
  ASSERT_TRUE(spooled.ok());
  const auto request = rpc::TranslateRecord((*spooled)->acquisition());
  ASSERT_TRUE(request.ok()) << request.status();
  ASSERT_TRUE(request->calibration);
  EXPECT_EQ(request->calibration->crc32c, kept.crc32c());
}

TEST_F(CalibrationContractTest, AProtocolMayRequireAVerifiedSet) {
  Serve([](v1::ServerConfig& config) {
    v1::ReconstructionProtocol& protocol = *config.add_protocol();
    protocol.set_name("verified");
    protocol.mutable_corrections()->set_calibration(v1::CALIBRATION_POLICY_REQUIRE_VERIFIED);
  });
  v1::AcquisitionHeader header = CountsHeader();
  header.set_protocol("verified");
  ASSERT_TRUE(AddSet(SetNamed("a")).ok());
  const Answer refused = Acquire({HeaderMessage(header)});
  EXPECT_EQ(refused.accepted(), nullptr);
  const std::vector<const char*> why = {"'verified' requires a calibration",
                                        "'a' is the newest that fits and has not been verified"};
  EXPECT_THAT(refused.status, Refused(StatusCode::FAILED_PRECONDITION, why));
  const auto unverified = Begin(HeaderMessage(CountsHeader()));
  EXPECT_FALSE(GetJob(unverified->job_id).calibration().verified());
  unverified->Break();

  v1::KeptCalibration kept;
  const grpc::Status added = AddSet(Verified("b"), &kept);
  ASSERT_TRUE(added.ok()) << added.error_message();
  EXPECT_EQ(kept.label().verification().water_hu(), 2);
  header.set_calibration("b");
  const auto call = Begin(HeaderMessage(header));
  EXPECT_TRUE(GetJob(call->job_id).calibration().verified());
  call->Break();
  RestartService();
  EXPECT_TRUE(GetJob(call->job_id).calibration().verified());
}

// A console that sends no matrices gets those of its station's set, for good.
TEST_F(CalibrationContractTest, MatricesAreTheStationsWhereTheHeaderHasNone) {
  const v1::AcquisitionHeader listed = SmallHeader();
  v1::AcquisitionHeader header = listed;
  header.clear_trajectory();
  const auto begin = [&] { return Acquire({HeaderMessage(header)}).status; };
  EXPECT_THAT(begin(), Invalid({"trajectory is unset"}));

  v1::CalibrationSet set = wire::CalibrationLabel(SetNamed("arm"));
  set.set_station_name(header.station_name());
  set.set_detector_mode(header.detector_mode());
  *set.mutable_detector() = header.detector();
  wire::SetGeometry(wire::AcquisitionFromProto(listed)->trajectory, set);
  v1::KeptCalibration kept;
  const grpc::Status added = AddSet(set, &kept);
  ASSERT_TRUE(added.ok()) << added.error_message();
  EXPECT_THAT(kept.part(), ElementsAre("geometry"));
  header.set_frame_count(header.frame_count() - 1);
  const std::vector<const char*> misfit = {"'arm' does not fit", "frames"};
  EXPECT_THAT(begin(), Refused(StatusCode::FAILED_PRECONDITION, misfit));
  header.set_frame_count(listed.frame_count());

  const auto call = Begin(HeaderMessage(header));
  EXPECT_EQ(GetJob(call->job_id).geometry().name(), "arm");
  EXPECT_EQ(GetJob(call->job_id).geometry().crc32c(), kept.crc32c());
  call->Break();
  // What was chosen is kept with the frames, whatever becomes of the set.
  ASSERT_TRUE(Withdraw("arm").ok());
  RestartService();
  EXPECT_EQ(GetJob(call->job_id).geometry().name(), "arm");
  const auto spooled = service_.spool->Open(call->job_id);
  ASSERT_TRUE(spooled.ok());
  const auto request = rpc::TranslateRecord((*spooled)->acquisition());
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->acquisition.trajectory, wire::AcquisitionFromProto(listed)->trajectory);
  // A console that resumes says what it said first.
  v1::AcquireRequest resume = ResumeMessage(call->job_id);
  *resume.mutable_resume()->mutable_header() = header;
  EXPECT_EQ(Begin(resume)->job_id, call->job_id);
  header.set_geometry("another");
  *resume.mutable_resume()->mutable_header() = header;
  EXPECT_THAT(Acquire({resume}).status, Invalid({"geometry is 'another'", "arm"}));
}

TEST_F(CalibrationContractTest, WhatTheHeaderSaysOfItIsChecked) {
  EXPECT_THAT(Refusal([](auto& h) { h.set_detector_mode("2 x 2"); }),
              Invalid({"detector_mode is '2 x 2'", "[A-Za-z0-9_.-]"}));
  EXPECT_THAT(Refusal([](auto& h) { h.set_calibration(std::string(65, 'a')); }),
              Invalid({"calibration is"}));
  EXPECT_THAT(Refusal([](auto& h) { h.set_calibration("a"); }),
              Invalid({"calibration is 'a'", "the protocol does not correct"}));
  EXPECT_THAT(Refusal([](auto& h) { h.set_protocol("calibrated"); }),
              Refused(StatusCode::FAILED_PRECONDITION, std::vector<const char*>{"line integrals"}));
}

}  // namespace
}  // namespace isocenter::testing
