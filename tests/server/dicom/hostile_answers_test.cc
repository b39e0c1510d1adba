// Answers of an information system or PACS that no parser of our library would survive.
#include <thread>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/dicom/net/association.h"
#include "server/dicom/net/library.h"
#include "server/dicom/sending/commitment.h"
#include "server/dicom/worklist/procedure_step_user.h"
#include "server/dicom/worklist/worklist.h"
#include "tests/server/dicom/raw_connection.h"
#include "tests/server/dicom/raw_messages.h"

namespace isocenter::dicom {
namespace {

using ::testing::HasSubstr;

constexpr char kExplicitSyntax[] = "1.2.840.10008.1.2.1", kImplicitSyntax[] = "1.2.840.10008.1.2";
constexpr char kWorklist[] = "1.2.840.10008.5.1.4.31", kStep[] = "1.2.840.10008.3.1.2.3.3";
constexpr char kCommitment[] = "1.2.840.10008.1.20.1";
constexpr int kFindResponse = 0x8020, kCreateResponse = 0x8140, kActionResponse = 0x8130;
constexpr int kDeep = 50000;

/// Accepts one association, and answers each PDU that ends a data set with bytes.
class RawServer {
 public:
  RawServer(const std::string& transfer_syntax, const std::string& answer)
      : thread_([this, transfer_syntax, answer] { Serve(transfer_syntax, answer); }) {}
  ~RawServer() { thread_.join(); }
  int port() const { return listener_.port(); }

 private:
  void Serve(const std::string& transfer_syntax, const std::string& answer) {
    RawConnection connection = listener_.Accept();
    (void)connection.Receive();
    (void)connection.Send(AssociateAccept(transfer_syntax));
    while (true) {
      const RawConnection::Received pdu = connection.Receive();
      if (pdu.type != 4) return;
      const bool ends_data_set = pdu.body.size() > 5 && pdu.body[5] == 2;
      if (ends_data_set) (void)connection.Send(answer);
    }
  }

  RawListener listener_;
  std::thread thread_;
};

std::string FindResponse(const std::string& keys) {
  return DataPdu(true, true,
                 Command(kWorklist, kFindResponse, true, {{0x0900, Bytes(0xff00, 2)}},
                         /*answers=*/true)) +
         DataSet(keys);
}

absl::StatusOr<jobs::WorklistAnswer> Ask(int port) {
  DicomWorklist worklist({.ae_title = "RIS", .host = "127.0.0.1", .port = port}, {}, nullptr);
  return worklist.Find({.patient_id = "P1"}, absl::Now() + absl::Seconds(10));
}

TEST(HostileAnswers, DeepWorklist) {
  for (const bool implicit_vr : {false, true}) {
    const RawServer server(implicit_vr ? kImplicitSyntax : kExplicitSyntax,
                           FindResponse(NestedSequences(kDeep, implicit_vr, /*delimited=*/false)));
    EXPECT_THAT(Ask(server.port()).status().ToString(), HasSubstr("legal is up to 16 levels"));
  }
}

// What is inflated or big endian was not proposed; DCMTK would read it all the same.
TEST(HostileAnswers, TransferSyntaxThatWasNotProposed) {
  for (const char* syntax : {"1.2.840.10008.1.2.1.99", "1.2.840.10008.1.2.2", "1.2.3"}) {
    const RawServer server(syntax, FindResponse(Explicit(0x00100020, "LO", "P1")));
    EXPECT_FALSE(Ask(server.port()).ok()) << syntax;
  }
}

TEST(HostileAnswers, DeepAnswerToAProcedureStep) {
  ConfigureLibrary();
  const RawServer server(
      kExplicitSyntax,
      DataPdu(true, true,
              Command(kStep, kCreateResponse, true,
                      {{0x0900, Bytes(0, 2)}, {0x1000, UidValue("1.2.3")}}, /*answers=*/true)) +
          DataSet(NestedSequences(kDeep, false, /*delimited=*/false)));
  Interruptor interruptor;
  auto association = RequestProcedureSteps(
      {.ae_title = "RIS", .host = "127.0.0.1", .port = server.port()}, {}, interruptor);
  ASSERT_TRUE(association.ok()) << association.status();
  const auto answer = SendProcedureStep(
      *association, {.job_id = "job",
                     .creates = true,
                     .data = absl::Base64Escape(Explicit(0x00400253, "SH", "1 "))});
  EXPECT_THAT(answer.status().ToString(), HasSubstr("legal is up to 16 levels"));
}

TEST(HostileAnswers, DeepAnswerToARequestOfCommitment) {
  ConfigureLibrary();
  const RawServer server(
      kImplicitSyntax,
      DataPdu(true, true,
              Command(kCommitment, kActionResponse, true,
                      {{0x0900, Bytes(0, 2)}, {0x1000, UidValue("1.2.3")}, {0x1008, Bytes(1, 2)}},
                      /*answers=*/true)) +
          DataSet(NestedSequences(kDeep, true, /*delimited=*/false)));
  Interruptor interruptor;
  auto association =
      Association::Request({.ae_title = "PACS", .host = "127.0.0.1", .port = server.port()}, {},
                           {kCommitment}, interruptor);
  ASSERT_TRUE(association.ok()) << association.status();
  const absl::Status answer = RequestCommitment(
      *association, {.transaction_uid = "1.2.3", .items = {{"1.2.4", "1.2.5"}}}, 10);
  EXPECT_THAT(answer.ToString(), HasSubstr("legal is up to 16 levels"));
}

}  // namespace
}  // namespace isocenter::dicom
