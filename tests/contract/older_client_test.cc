// A stream as a console of the first version sends it, byte for byte. It must stay readable for
// ever: a failure here means that a field was renumbered, retyped or given another meaning.

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "tests/contract/contract_fixture.h"

namespace isocenter::testing {
namespace {

// patient_study: Old^Client, P7, study 1.2.840.7, accession A7; protocol fdk; detector 4x3 of 5 mm;
// uint16 counts with I0 = 60000; 8 frames over 315 degrees, 750 and 1200 mm; grid 4x4x3 of 2 mm,
// centred; room-7, 90 kV, HEAD, request req-7.
constexpr char kHeader[] =
    "0aab010a1f0a0a4f6c645e436c69656e74120250372a09312e322e3834302e3732024137120366646b1a1608"
    "04100319000000000000144021000000000000144020012900000000004ced403008421b0900000000007087"
    "40110000000000c09240210000000000b073404a230804100418032100000000000000402900000000000000"
    "4031000000000000004050015206726f6f6d2d3759000000000080564062044845414472057265712d37";
// Index 5, twelve counts from 30000 in steps of 100, with their checksum.
constexpr char kFrame[] =
    "12230805121830759475f8755c76c07624778877ec775078b47818797c791d68aff46e2001";
constexpr int kFrameIndexByte = 3;
constexpr char kFinish[] = "1a00";

class OlderClientTest : public ContractTest {};

TEST_F(OlderClientTest, HeaderMeansWhatItMeant) {
  v1::AcquireRequest message;
  ASSERT_TRUE(message.ParseFromString(absl::HexStringToBytes(kHeader)));
  const v1::AcquisitionHeader& header = message.header();
  EXPECT_EQ(header.patient_study().patient_name(), "Old^Client");
  EXPECT_EQ(header.patient_study().patient_id(), "P7");
  EXPECT_EQ(header.patient_study().study_instance_uid(), "1.2.840.7");
  EXPECT_EQ(header.patient_study().accession_number(), "A7");
  EXPECT_EQ(header.detector().columns(), 4u);
  EXPECT_EQ(header.detector().rows(), 3u);
  EXPECT_EQ(header.detector().pitch_v_mm(), 5);
  EXPECT_EQ(header.pixel_type(), v1::PIXEL_TYPE_UINT16_COUNTS);
  EXPECT_EQ(header.i0_counts(), 60000);
  EXPECT_EQ(header.frame_count(), 8u);
  EXPECT_EQ(header.circular().source_to_isocenter_mm(), 750);
  EXPECT_EQ(header.circular().source_to_detector_mm(), 1200);
  EXPECT_EQ(header.circular().arc_deg(), 315);
  EXPECT_EQ(header.grid().nz(), 3u);
  EXPECT_EQ(header.grid().spacing_x_mm(), 2);
  EXPECT_TRUE(header.grid().centered());
  EXPECT_EQ(header.station_name(), "room-7");
  EXPECT_EQ(header.tube_voltage_kv(), 90);
  EXPECT_EQ(header.body_part_examined(), "HEAD");
  EXPECT_EQ(header.request_id(), "req-7");
}

TEST_F(OlderClientTest, TheStreamIsReconstructed) {
  std::vector<std::string> stream = {absl::HexStringToBytes(kHeader)};
  for (int index = 0; index < 8; ++index) {
    std::string frame = absl::HexStringToBytes(kFrame);
    ASSERT_EQ(frame[kFrameIndexByte], 5);
    frame[kFrameIndexByte] = static_cast<char>(index);
    stream.push_back(frame);
  }
  stream.push_back(absl::HexStringToBytes(kFinish));
  std::vector<v1::AcquireRequest> messages;
  for (std::string bytes : stream) {
    // A console of a later version may send a field that this one does not know: field 2047.
    v1::AcquireRequest message;
    ASSERT_TRUE(message.ParseFromString(bytes + absl::HexStringToBytes("f87f01")));
    messages.push_back(message);
  }
  const Answer answer = Acquire(messages);
  ASSERT_NE(answer.result(), nullptr) << answer.status.error_message();
  EXPECT_EQ(answer.result()->instance_count(), 3u);
  EXPECT_EQ(service_.results.job(answer.result()->job_id()).patient_study.patient_id, "P7");
}

// A protocol "old" with corrections of which field 1 is true: there was no other method.
TEST_F(OlderClientTest, ItsProtocolsExtendRowsAsTheyDid) {
  v1::ReconstructionProtocol protocol;
  ASSERT_TRUE(protocol.ParseFromString(absl::HexStringToBytes("0a036f6c643a020801")));
  EXPECT_EQ(protocol.name(), "old");
  const auto translated = config::ProtocolFromProto(protocol);
  ASSERT_TRUE(translated.ok()) << translated.status();
  EXPECT_EQ(translated->settings.truncation, ops::Truncation::kMirror);
  // And is told so in the same field.
  v1::Corrections answer = translated->description.corrections();
  answer.clear_truncation();
  answer.clear_calibration();
  EXPECT_EQ(answer.SerializeAsString(), absl::HexStringToBytes("0801"));
}

// A resumption was the job id alone: field 4, of which field 1. An upgrade must not end the scan.
TEST_F(OlderClientTest, ItsResumptionIsTakenUp) {
  const auto call = Begin();
  ASSERT_TRUE(call->Write(0, 10));
  ASSERT_TRUE(call->ReadAcknowledgement(9));
  call->Break();
  const std::string id = call->job_id;
  const std::string inner = absl::StrCat("\x0a", std::string(1, static_cast<char>(id.size())), id);
  v1::AcquireRequest resume;
  ASSERT_TRUE(resume.ParseFromString(
      absl::StrCat("\x22", std::string(1, static_cast<char>(inner.size())), inner)));
  const auto again = Begin(resume);
  EXPECT_EQ(again->job_id, id);
  EXPECT_EQ(again->next_frame_index, 10u);
  ASSERT_TRUE(again->Write(10, 40));
  EXPECT_NE(again->End().result(), nullptr);
}

// A request to refine was job and protocol alone: fields 1 and 2. What it is answered with has
// fields of later versions, which it passes over.
TEST_F(OlderClientTest, ItsRefinementIsWhatItWas) {
  v1::RefineJobRequest request;
  ASSERT_TRUE(request.ParseFromString(absl::HexStringToBytes("0a066a6f622d313712036f7373")));
  EXPECT_EQ(request.job_id(), "job-17");
  EXPECT_EQ(request.protocol(), "oss");
  EXPECT_FALSE(request.has_second_pass());
  v1::Job job;
  job.set_job_id("job-18");
  job.set_refines_job_id("job-17");
  const std::string before = job.SerializeAsString();
  job.mutable_second_pass()->set_metal(true);
  // Field 23, of which field 1 is true: two bytes of tag, length, and two more.
  EXPECT_EQ(job.SerializeAsString(), before + absl::HexStringToBytes("ba01020801"));
  // Field 27, of which field 1 is true.
  job.clear_second_pass();
  job.mutable_motion()->set_found(true);
  EXPECT_EQ(job.SerializeAsString(), before + absl::HexStringToBytes("da01020801"));
  // Field 34, of which field 1 is true.
  job.clear_motion();
  job.mutable_self_calibration()->set_found(true);
  EXPECT_EQ(job.SerializeAsString(), before + absl::HexStringToBytes("9202020801"));
  // Of which fields 7 and 14 came later; what does not have them is as it was.
  job.mutable_self_calibration()->mutable_reference()->set_taken(true);
  EXPECT_EQ(job.SerializeAsString(), before + absl::HexStringToBytes("920206080172020801"));
  job.clear_self_calibration();
  job.mutable_second_pass()->set_reference_job_id("j");
  EXPECT_EQ(job.SerializeAsString(), before + absl::HexStringToBytes("ba01033a016a"));
}

}  // namespace
}  // namespace isocenter::testing
