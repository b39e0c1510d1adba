// Results on their way to DICOM destinations: what is listed, sent, retried, and kept until it is
// there.
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "isocenter/v1/destinations.grpc.pb.h"
#include "isocenter/v1/transfers.grpc.pb.h"
#include "server/archive/archive.h"
#include "tests/contract/captured_log.h"
#include "tests/contract/contract_fixture.h"

namespace isocenter::testing {
namespace {

using archive::TransferState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kCt[] = "1.2.840.10008.5.1.4.1.1.2";
constexpr char kXray3d[] = "1.2.840.10008.5.1.4.1.1.13.1.1";

class TransferContractTest : public ContractTest {
 protected:
  void SetUp() override {
    archive_ = *archive::Archive::Open(service_.directory.path() / "archive");
    ASSERT_TRUE(queue()
                    .Configure({{.destination = {"PACS", true}},
                                {.destination = {"VNA", false}},
                                {.destination = {"VIEWER", false, {kXray3d}}}},
                               absl::Now())
                    .ok());
    partners_.transfers = &queue();
    StartServer();
    stub_ = v1::TransferService::NewStub(channel_);
  }
  void TearDown() override { server_.reset(); }
  archive::TransferQueue& queue() { return archive_->transfers(); }

  /// A completed job with three stored slices, for these destinations.
  void Complete(const std::string& job_id, const std::vector<archive::Destination>& destinations) {
    jobs::Job job;
    job.id = job_id;
    job.state = jobs::JobState::kCompleted;
    job.create_time = absl::Now();
    ASSERT_TRUE(service_.table->Insert(job).ok());
    archive::Result result;
    result.study.instance_uid = "1.2.3";
    result.series.instance_uid = absl::StrCat("series-", job_id);
    auto staging = archive_->Stage(job_id, 1000);
    ASSERT_TRUE(staging.ok()) << staging.status();
    for (int i = 0; i < 3; ++i) {
      result.instances.push_back({.sop_instance_uid = absl::StrCat(job_id, ".", i),
                                  .sop_class_uid = kCt,
                                  .number = i + 1,
                                  .file_name = absl::StrCat(i, ".dcm")});
      std::ofstream(staging->directory() / result.instances.back().file_name) << i;
    }
    result.raw_file_name = "volume.f32";
    std::ofstream(staging->directory() / result.raw_file_name) << "";
    result.destinations = destinations;
    const absl::Status stored = archive_->Commit(*std::move(staging), result);
    ASSERT_TRUE(stored.ok()) << stored;
  }
  /// Puts the due instances of a destination into this state.
  void Settle(const std::string& destination, TransferState state) {
    const auto claimed = queue().Claim(destination, {kCt}, 100, absl::Now());
    ASSERT_TRUE(claimed.ok()) << claimed.status();
    for (const archive::Outgoing& outgoing : *claimed) {
      ASSERT_TRUE((state == TransferState::kFailed
                       ? queue().MarkFailed(outgoing.key, "cannot understand", absl::Now())
                       : queue().MarkSent(outgoing.key, absl::Now()))
                      .ok());
    }
  }

  grpc::Status List(const v1::ListTransfersRequest& request, v1::ListTransfersResponse& response) {
    grpc::ClientContext context;
    SetDeadline(context);
    return stub_->ListTransfers(&context, request, &response);
  }
  std::vector<v1::Transfer> Listed(const v1::ListTransfersRequest& request = {}) {
    v1::ListTransfersResponse response;
    const grpc::Status status = List(request, response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return {response.transfer().begin(), response.transfer().end()};
  }
  grpc::Status Send(const std::string& job_id, const std::string& destination,
                    v1::Transfer* transfer = nullptr) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::SendJobRequest request;
    request.set_job_id(job_id);
    request.set_destination(destination);
    v1::SendJobResponse response;
    const grpc::Status status = stub_->SendJob(&context, request, &response);
    if (transfer != nullptr) *transfer = response.transfer();
    return status;
  }
  grpc::Status Retry(const v1::RetryTransfersRequest& request, uint32_t* count = nullptr) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::RetryTransfersResponse response;
    const grpc::Status status = stub_->RetryTransfers(&context, request, &response);
    if (count != nullptr) *count = response.instance_count();
    return status;
  }
  grpc::Status Delete(const std::string& job_id, bool force) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::DeleteJobRequest request;
    request.set_job_id(job_id);
    request.set_force(force);
    v1::DeleteJobResponse response;
    return jobs_->DeleteJob(&context, request, &response);
  }

  std::unique_ptr<archive::Archive> archive_;
  std::unique_ptr<v1::TransferService::Stub> stub_;
};

TEST_F(TransferContractTest, EachStateIsToldWithItsCounts) {
  Complete("job-1", {{"PACS", true}, {"VNA", false}});
  Settle("PACS", TransferState::kSent);
  Settle("VNA", TransferState::kFailed);
  const auto transfers = Listed();
  ASSERT_THAT(transfers, SizeIs(2));
  for (const v1::Transfer& transfer : transfers) {
    EXPECT_EQ(transfer.job_id(), "job-1");
    EXPECT_EQ(transfer.attempts(), 1u);
    EXPECT_FALSE(transfer.done());
    EXPECT_TRUE(transfer.has_enqueue_time());
    const bool is_pacs = transfer.destination() == "PACS";
    EXPECT_EQ(transfer.storage_commitment(), is_pacs);
    EXPECT_EQ(transfer.state(), is_pacs ? v1::TRANSFER_STATE_SENT : v1::TRANSFER_STATE_FAILED);
    EXPECT_EQ(is_pacs ? transfer.sent_count() : transfer.failed_count(), 3u);
    EXPECT_EQ(transfer.reason(), is_pacs ? "" : "cannot understand");
  }
  // The same with the job.
  EXPECT_THAT(GetJob("job-1").transfer(), SizeIs(2));
}

TEST_F(TransferContractTest, ListsAreFilteredAndPaged) {
  for (int i = 0; i < 5; ++i) Complete(absl::StrCat("job-", i), {{"PACS", true}});
  Complete("other", {{"VNA", false}});
  Settle("VNA", TransferState::kSent);
  v1::ListTransfersRequest request;
  request.set_destination("PACS");
  request.set_page_size(2);
  std::vector<std::string> ids;
  v1::ListTransfersResponse response;
  do {
    ASSERT_TRUE(List(request, response).ok());
    EXPECT_LE(response.transfer_size(), 2);
    for (const v1::Transfer& transfer : response.transfer()) ids.push_back(transfer.job_id());
    request.set_page_token(response.next_page_token());
  } while (!response.next_page_token().empty());
  EXPECT_THAT(ids, ElementsAre("job-4", "job-3", "job-2", "job-1", "job-0"));
  v1::ListTransfersRequest one;
  one.set_job_id("job-3");
  EXPECT_THAT(Listed(one), SizeIs(1));
  v1::ListTransfersRequest sent;
  sent.add_state(v1::TRANSFER_STATE_SENT);
  sent.add_state(v1::TRANSFER_STATE_COMMITTED);
  ASSERT_THAT(Listed(sent), SizeIs(1));
  EXPECT_EQ(Listed(sent)[0].job_id(), "other");
  v1::ListTransfersRequest none;
  none.set_job_id("no such job");
  EXPECT_THAT(Listed(none), IsEmpty());
}

TEST_F(TransferContractTest, BadListsAreRefused) {
  for (int i = 0; i < 3; ++i) Complete(absl::StrCat("job-", i), {{"PACS", true}});
  v1::ListTransfersResponse response;
  v1::ListTransfersRequest request;
  for (const int size : {-1, 1001}) {
    request.set_page_size(size);
    EXPECT_THAT(List(request, response), Invalid({"page_size", "0 to 1000"}));
  }
  request.set_page_size(1);
  for (const char* token : {"x", "1", "1-2-3", "-5"}) {
    request.set_page_token(token);
    EXPECT_THAT(List(request, response), Invalid({"page_token"})) << token;
  }
  request.clear_page_token();
  ASSERT_TRUE(List(request, response).ok());
  // A token of another filter.
  request.set_page_token(response.next_page_token());
  request.set_destination("PACS");
  EXPECT_THAT(List(request, response), Invalid({"page_token"}));
  for (const int state : {0, 99}) {
    v1::ListTransfersRequest bad;
    bad.add_state(static_cast<v1::TransferState>(state));
    EXPECT_THAT(List(bad, response), Invalid({"state"}));
  }
}

TEST_F(TransferContractTest, AJobIsSentOnRequest) {
  Complete("job-1", {});
  v1::Transfer transfer;
  const CapturedLog log;
  ASSERT_TRUE(Send("job-1", "VNA", &transfer).ok());
  EXPECT_THAT(log.text(),
              HasSubstr("event=send_requested job=job-1 destination='VNA' by=\"127.0.0.1:"));
  EXPECT_EQ(transfer.destination(), "VNA");
  EXPECT_EQ(transfer.queued_count(), 3u);
  // Again it is left as it is.
  Settle("VNA", TransferState::kSent);
  ASSERT_TRUE(Send("job-1", "VNA", &transfer).ok());
  EXPECT_EQ(transfer.state(), v1::TRANSFER_STATE_SENT);
  EXPECT_TRUE(transfer.done());
}

TEST_F(TransferContractTest, WhatIsSentHasTheTimeOfTheServersClock) {
  const absl::Time then = absl::FromUnixSeconds(1'800'000'000);
  server_.reset();
  partners_.clock = [then] { return then; };
  StartServer();
  stub_ = v1::TransferService::NewStub(channel_);
  Complete("job", {});
  v1::Transfer transfer;
  ASSERT_TRUE(Send("job", "PACS", &transfer).ok());
  EXPECT_EQ(transfer.enqueue_time().seconds(), absl::ToUnixSeconds(then));
}

TEST_F(TransferContractTest, WhatCannotBeSentIsRefused) {
  Complete("job-1", {});
  using Parts = std::vector<const char*>;
  EXPECT_THAT(Send("job-2", "VNA"), Refused(grpc::StatusCode::NOT_FOUND, Parts{"job-2"}));
  EXPECT_THAT(Send("", "VNA"), Refused(grpc::StatusCode::NOT_FOUND, Parts{}));
  EXPECT_THAT(Send("job-1", "NOBODY"),
              Refused(grpc::StatusCode::NOT_FOUND, Parts{"NOBODY", "PACS", "VNA"}));
  // Of several the one that is meant has to be named.
  EXPECT_THAT(Send("job-1", ""), Refused(grpc::StatusCode::NOT_FOUND, Parts{"PACS", "VNA"}));
  // It is stored as slices only.
  EXPECT_THAT(Send("job-1", "VIEWER"),
              Refused(grpc::StatusCode::FAILED_PRECONDITION, Parts{"job-1", "VIEWER"}));
  EXPECT_THAT(Listed(), IsEmpty());
}

TEST_F(TransferContractTest, WhatHasFailedOrWaitsIsRetriedAndNothingElse) {
  Complete("job-1", {{"PACS", true}, {"VNA", false}});
  Complete("job-2", {{"PACS", true}});
  Settle("PACS", TransferState::kFailed);
  Settle("VNA", TransferState::kSent);
  uint32_t count = 0;
  EXPECT_THAT(Retry({}), Invalid({"job_id and destination are empty", "all: true"}));
  v1::RetryTransfersRequest of_vna;
  of_vna.set_destination("VNA");
  ASSERT_TRUE(Retry(of_vna, &count).ok());
  EXPECT_EQ(count, 0u);
  v1::RetryTransfersRequest of_job;
  of_job.set_job_id("job-1");
  ASSERT_TRUE(Retry(of_job, &count).ok());
  EXPECT_EQ(count, 3u);
  v1::RetryTransfersRequest everything;
  everything.set_all(true);
  const CapturedLog log;
  ASSERT_TRUE(Retry(everything, &count).ok());
  EXPECT_EQ(count, 6u);  // those of job-1 wait by now
  EXPECT_THAT(log.text(), HasSubstr("instances=6 by=\"127.0.0.1:"));
  v1::RetryTransfersRequest unknown;
  unknown.set_job_id("no such job");
  ASSERT_TRUE(Retry(unknown, &count).ok());
  EXPECT_EQ(count, 0u);
}

TEST_F(TransferContractTest, ADestinationThatIsNotConfiguredIsRefusedEverywhere) {
  using Parts = std::vector<const char*>;
  v1::RetryTransfersRequest request;
  request.set_destination("PASC");
  EXPECT_THAT(Retry(request), Refused(grpc::StatusCode::NOT_FOUND,
                                      Parts{"destination is 'PASC'", "PACS, VNA", "mean PACS?"}));
  grpc::ClientContext context;
  SetDeadline(context);
  v1::ListTransfersRequest list;
  list.set_destination("PASC");
  v1::ListTransfersResponse listed;
  EXPECT_THAT(stub_->ListTransfers(&context, list, &listed),
              Refused(grpc::StatusCode::NOT_FOUND, Parts{"PASC", "PACS"}));
}

TEST_F(TransferContractTest, DestinationsAreToldWithHowItGoesThere) {
  StartServer([](v1::ServerConfig& config) {
    v1::DicomNodeConfig& dicom = *config.mutable_dicom_node();
    v1::DicomPeer& peer = *dicom.add_peer();
    peer.set_ae_title("PACS");
    peer.set_host("pacs.example.org");
    peer.set_port(104);
    v1::DicomDestination& pacs = *dicom.add_destination();
    pacs.set_ae_title("PACS");
    pacs.set_storage_commitment(true);
    v1::DicomDestination& vna = *dicom.add_destination();
    vna.mutable_dicomweb()->set_name("VNA");
    vna.mutable_dicomweb()->set_url("https://vna.example.org/dicom-web");
  });
  const auto stub = v1::DestinationService::NewStub(channel_);
  Complete("job-1", {{"PACS", true}, {"VNA", false}});
  Settle("VNA", TransferState::kFailed);
  queue().SetPause("PACS", {.reason = "connection refused",
                            .attempts = 3,
                            .until = absl::FromUnixSeconds(1'800'000'000)});
  grpc::ClientContext context;
  SetDeadline(context);
  v1::ListDestinationsResponse response;
  ASSERT_TRUE(stub->ListDestinations(&context, {}, &response).ok());
  ASSERT_EQ(response.destination_size(), 2);
  const v1::Destination &pacs = response.destination(0), &vna = response.destination(1);
  EXPECT_EQ(pacs.name(), "PACS");
  EXPECT_EQ(pacs.kind(), v1::DESTINATION_KIND_C_STORE);
  EXPECT_EQ(pacs.address(), "pacs.example.org:104");
  EXPECT_TRUE(pacs.storage_commitment());
  EXPECT_EQ(pacs.queued_count(), 3u);
  EXPECT_EQ(pacs.reason(), "connection refused");
  EXPECT_EQ(pacs.attempts(), 3u);
  EXPECT_EQ(pacs.next_attempt_time().seconds(), 1'800'000'000);
  EXPECT_EQ(pacs.sent_count(), 0u);
  EXPECT_EQ(vna.name(), "VNA");
  EXPECT_EQ(vna.kind(), v1::DESTINATION_KIND_STOW_RS);
  EXPECT_EQ(vna.address(), "https://vna.example.org/dicom-web");
  EXPECT_EQ(vna.failed_count(), 3u);
  EXPECT_EQ(vna.sent_count(), 0u);
  EXPECT_EQ(vna.reason(), "");
}

TEST_F(TransferContractTest, WhatADestinationHasLostIsSentAgain) {
  Complete("job-1", {{"VNA", false}});
  Complete("job-2", {{"VNA", false}});
  Settle("VNA", TransferState::kSent);
  const auto send = [&](bool again, v1::SendJobsResponse* response = nullptr) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::SendJobsRequest request;
    request.set_destination("VNA");
    request.set_again(again);
    request.mutable_begin()->set_seconds(absl::ToUnixSeconds(absl::Now()) - 3600);
    request.mutable_end()->set_seconds(absl::ToUnixSeconds(absl::Now()) + 3600);
    v1::SendJobsResponse unused;
    return stub_->SendJobs(&context, request, response == nullptr ? &unused : response);
  };
  v1::SendJobsResponse response;
  ASSERT_TRUE(send(false, &response).ok());
  ASSERT_EQ(response.job_size(), 2);
  EXPECT_EQ(response.job(0).newly_queued_count() + response.job(1).newly_queued_count(), 0u);
  response.Clear();
  ASSERT_TRUE(send(true, &response).ok());
  ASSERT_EQ(response.job_size(), 2);
  for (const v1::SentJob& job : response.job()) {
    EXPECT_EQ(job.newly_queued_count(), 3u);
    EXPECT_EQ(job.transfer().state(), v1::TRANSFER_STATE_QUEUED);
    EXPECT_EQ(job.error_message(), "");
  }
  // Repeated, it changes nothing.
  response.Clear();
  ASSERT_TRUE(send(true, &response).ok());
  EXPECT_EQ(response.job(0).newly_queued_count() + response.job(1).newly_queued_count(), 0u);
}

TEST_F(TransferContractTest, WhichJobsAreMeantHasToBeSaid) {
  Complete("job-1", {});
  const auto send = [&](const v1::SendJobsRequest& request, v1::SendJobsResponse& response) {
    grpc::ClientContext context;
    SetDeadline(context);
    return stub_->SendJobs(&context, request, &response);
  };
  v1::SendJobsResponse response;
  v1::SendJobsRequest request;
  request.set_destination("VNA");
  EXPECT_THAT(send(request, response), Invalid({"patient_id, begin and end are empty"}));
  request.mutable_begin()->set_seconds(10);
  EXPECT_THAT(send(request, response), Invalid({"begin or end is missing"}));
  request.mutable_end()->set_seconds(10);
  EXPECT_THAT(send(request, response), Invalid({"legal is a time before end"}));
  request.clear_begin();
  request.clear_end();
  request.set_patient_id("nobody");
  ASSERT_TRUE(send(request, response).ok());
  EXPECT_EQ(response.job_size(), 0);
  request.set_destination("NOBODY");
  EXPECT_THAT(send(request, response),
              Refused(grpc::StatusCode::NOT_FOUND, std::vector<const char*>{"NOBODY", "PACS"}));
}

TEST_F(TransferContractTest, AJobIsKeptUntilItsDestinationsHaveItUnlessForced) {
  using Parts = std::vector<const char*>;
  Complete("job-1", {{"PACS", true}, {"VNA", false}});
  const Parts waits = {"PACS has not confirmed to have committed to 3 of 3",
                       "VNA has not confirmed to have received 3 of 3"};
  EXPECT_THAT(Delete("job-1", false), Refused(grpc::StatusCode::FAILED_PRECONDITION, waits));
  Settle("PACS", TransferState::kSent);
  Settle("VNA", TransferState::kSent);
  // Sent is enough for who is not asked for commitment.
  EXPECT_THAT(Delete("job-1", false),
              Refused(grpc::StatusCode::FAILED_PRECONDITION, Parts{"PACS", "committed"}));
  const auto request = queue().BeginCommitment("PACS", "1.2", absl::InfiniteFuture(), absl::Now());
  ASSERT_TRUE(request.ok() && request->has_value());
  archive::CommitmentReport report{.transaction_uid = "1.2"};
  for (const auto& item : (*request)->items) report.committed.push_back(item.sop_instance_uid);
  ASSERT_TRUE(queue().Apply(report, absl::Now()).ok());
  EXPECT_TRUE(Delete("job-1", false).ok());
  EXPECT_EQ(Delete("job-1", false).error_code(), grpc::StatusCode::NOT_FOUND);

  Complete("job-2", {{"PACS", true}});
  Settle("PACS", TransferState::kFailed);
  EXPECT_EQ(Delete("job-2", false).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_TRUE(Delete("job-2", true).ok());
}

TEST_F(TransferContractTest, WithoutDestinationsThereIsNothing) {
  server_.reset();
  partners_.transfers = nullptr;
  StartServer();
  stub_ = v1::TransferService::NewStub(channel_);
  EXPECT_THAT(Listed(), IsEmpty());
  jobs::Job job;
  job.id = "job-1";
  job.state = jobs::JobState::kCompleted;
  ASSERT_TRUE(service_.table->Insert(job).ok());
  EXPECT_THAT(Send("job-1", ""), Refused(grpc::StatusCode::NOT_FOUND,
                                         std::vector<const char*>{"dicom_node.destination"}));
  v1::RetryTransfersRequest everything;
  everything.set_all(true);
  uint32_t count = 1;
  ASSERT_TRUE(Retry(everything, &count).ok());
  EXPECT_EQ(count, 0u);
}

}  // namespace
}  // namespace isocenter::testing
