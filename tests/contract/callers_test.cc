// What one caller may take, and what is read of whom.
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "grpcpp/generic/generic_stub.h"
#include "server/crypto/digests.h"
#include "tests/contract/contract_fixture.h"
#include "tests/contract/services.h"
#include "tests/fault/http2_frames.h"
#include "tests/fault/raw_connection.h"

namespace isocenter::testing {
namespace {

using grpc::StatusCode;
using ::testing::HasSubstr;

class CallersTest : public ContractTest {
 protected:
  int Port() const {
    int port = 0;
    EXPECT_TRUE(
        absl::SimpleAtoi(server_->address().substr(server_->address().rfind(':') + 1), &port));
    return port;
  }

  /// Two consoles, "room 1" and "room 2".
  void StartWithTokens() {
    server_.reset();
    const std::string path = (service_.directory.path() / "tokens").string();
    std::ofstream(path) << "console " << crypto::Sha256Hex("secret") << " room 1\nconsole "
                        << crypto::Sha256Hex("other secret") << " room 2\n";
    std::filesystem::permissions(path, std::filesystem::perms(0600));
    roster_ = std::make_unique<roles::Roster>(*roles::TokenBook::Open(path),
                                              std::vector<roles::CertificateHolder>());
    RestartService();
  }

  /// What becomes of a call that begins, and whose request never comes.
  grpc::Status WithoutRequest(const google::protobuf::MethodDescriptor& method,
                              const std::string& authorization) {
    grpc::GenericStub generic(channel_);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
    if (!authorization.empty()) context.AddMetadata("authorization", authorization);
    grpc::CompletionQueue queue;
    void* tag = nullptr;
    bool ok = false;
    const auto call = generic.PrepareCall(
        &context, absl::StrCat("/", method.service()->full_name(), "/", method.name()), &queue);
    call->StartCall(nullptr);
    queue.Next(&tag, &ok);
    grpc::Status status;
    call->Finish(&status, nullptr);
    queue.Next(&tag, &ok);
    return status;
  }

  /// A fetch of a result whose client takes nothing of it.
  struct Unread {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::DownloadResultResponse>> reader;
    ~Unread() { context.TryCancel(); }
  };
  std::unique_ptr<Unread> FetchUnread(v1::JobService::Stub& stub, const std::string& id) {
    auto unread = std::make_unique<Unread>();
    v1::DownloadResultRequest request;
    request.set_job_id(id);
    request.set_format(v1::RESULT_FORMAT_RAW_FLOAT32);
    unread->reader = stub.DownloadResult(&unread->context, request);
    return unread;
  }
  grpc::Status Fetch(const std::string& id) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::DownloadResultRequest request;
    request.set_job_id(id);
    request.set_format(v1::RESULT_FORMAT_RAW_FLOAT32);
    const auto reader = jobs_->DownloadResult(&context, request);
    v1::DownloadResultResponse piece;
    while (reader->Read(&piece)) {
    }
    return reader->Finish();
  }
  /// Whose streams hold less than a result.
  std::unique_ptr<v1::JobService::Stub> NarrowStub() {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 16 << 10);
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    return v1::JobService::NewStub(grpc::CreateCustomChannel(
        server_->address(), grpc::InsecureChannelCredentials(), arguments));
  }
};

TEST_F(CallersTest, NothingIsReadOfAStranger) {
  StartWithTokens();
  for (const auto* method : ContractMethods()) {
    const grpc::Status status = WithoutRequest(*method, "");
    EXPECT_EQ(status.error_code(), StatusCode::UNAUTHENTICATED)
        << method->full_name() << ": " << status.error_message();
  }
}

TEST_F(CallersTest, NothingIsReadOfWhoMayNotCallTheMethod) {
  StartWithTokens();
  for (const auto* method : ContractMethods()) {
    if (method->name() != "DeleteJob" && method->name() != "DrainNode") continue;
    const grpc::Status status = WithoutRequest(*method, "Bearer secret");
    EXPECT_EQ(status.error_code(), StatusCode::PERMISSION_DENIED)
        << method->full_name() << ": " << status.error_message();
  }
}

TEST_F(CallersTest, ABatchOfScansLeavesRoomForOtherCallers) {
  service_.options.engine.batch_jobs_per_caller = 1;
  StartWithTokens();
  v1::AcquisitionHeader batch = SmallHeader();
  batch.set_job_class(v1::JOB_CLASS_BATCH);
  authorization_ = "Bearer secret";
  const auto first = Begin(HeaderMessage(batch));
  EXPECT_THAT(Acquire({HeaderMessage(batch)}).status,
              Refused(StatusCode::RESOURCE_EXHAUSTED,
                      std::vector{"token room 1 has 1 batch jobs; legal is at most 1"}));
  Begin()->Break();  // a live one
  authorization_ = "Bearer other secret";
  Begin(HeaderMessage(batch))->Break();
  first->Break();
}

TEST_F(CallersTest, MessagesThatAreNotFinishedKeepNobodyOut) {
  RawConnection slow(Port(), "127.0.0.2");
  slow.Send(Http2Opening());
  for (uint32_t stream = 1; stream < 60; stream += 2) {
    slow.Send(CallHeaders(stream, "/isocenter.v1.JobService/GetJob") +
              MessageBeginning(stream, 60 << 20, "x"));
  }
  absl::SleepFor(absl::Milliseconds(100));
  const absl::Time begin = absl::Now();
  Begin()->Break();
  EXPECT_LT(absl::Now() - begin, absl::Seconds(1));
  // Also one of their own host is served after a while.
  slow.Send(CallHeaders(101, "/isocenter.v1.JobService/GetJob") +
            Http2Frame(kData, 1, 101, std::string(5, '\0')));
  EXPECT_FALSE(slow.IsClosed());
}

TEST_F(CallersTest, ADownloadThatIsNotReadLosesItsPlace) {
  server_.reset();
  StartServer([](v1::ServerConfig& config) {
    config.mutable_limits()->set_idle_stream_seconds(1);
    config.mutable_limits()->set_downloads_per_caller(3);
  });
  // More than all windows on the way hold.
  v1::AcquisitionHeader header = SmallHeader();
  header.mutable_grid()->set_nx(80);
  header.mutable_grid()->set_ny(80);
  header.mutable_grid()->set_nz(80);
  const Answer answer = Acquire(WholeAcquisition(header));
  ASSERT_NE(answer.result(), nullptr) << answer.status.error_message();
  const std::string id = answer.result()->job_id();
  const auto stub = NarrowStub();
  std::vector<std::unique_ptr<Unread>> unread;
  const absl::Time begin = absl::Now();
  for (int i = 0; i < 3; ++i) {
    unread.push_back(FetchUnread(*stub, id));
    v1::DownloadResultResponse first;  // it has its place
    ASSERT_TRUE(unread.back()->reader->Read(&first));
  }
  EXPECT_TRUE(Eventually([&] {
    return Fetch(id).error_message() ==
           "127.0.0.1 has 3 downloads at once; legal is at most 3; try again when one has ended";
  }));
  const absl::Duration later = absl::Now() - begin;  // the last one began than the first one
  EXPECT_TRUE(Eventually([&] { return Fetch(id).ok(); }));
  // That is when the first one has lost its place: who reads before the others do gets all.
  absl::SleepFor(later + absl::Seconds(2));
  for (const auto& each : unread) {
    v1::DownloadResultResponse piece;
    while (each->reader->Read(&piece)) {
    }
    EXPECT_FALSE(each->reader->Finish().ok());
  }
}

TEST_F(CallersTest, CallsAreCountedAtOnceAndByTheSecond) {
  std::vector<std::string> refused;
  absl::Mutex mutex;
  partners_.on_caller_refused = [&](absl::string_view limit) {
    absl::MutexLock lock(&mutex);
    refused.emplace_back(limit);
  };
  server_.reset();
  StartServer([](v1::ServerConfig& config) {
    config.mutable_limits()->set_calls_per_second_per_caller(10);
  });
  grpc::Status last;
  for (int i = 0; i < 30; ++i) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::ListJobsResponse response;
    last = jobs_->ListJobs(&context, {}, &response);
    EXPECT_EQ(TrailerOf(context, "isocenter-try-again").has_value(), !last.ok());
  }
  EXPECT_EQ(last.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(last.error_message(), HasSubstr("127.0.0.1 calls more often than 10 times a second"));
  // A scan goes on, and another one begins.
  EXPECT_NE(Acquire(WholeAcquisition(SmallHeader())).result(), nullptr);
  server_.reset();  // which tells
  absl::MutexLock lock(&mutex);
  EXPECT_THAT(refused, ::testing::Each("calls_per_second"));
  EXPECT_FALSE(refused.empty());
}

TEST_F(CallersTest, WhoResetsStreamsWithoutEndIsCutAndALiveScanIsNot) {
  const auto live = Begin();
  ASSERT_TRUE(live->Write(0, 20));
  RawConnection attacker(Port(), "127.0.0.2");
  attacker.Send(Http2Opening());
  const absl::Time begin = absl::Now();
  uint32_t stream = 1;
  while (!attacker.IsClosed() && absl::Now() - begin < absl::Seconds(30)) {
    std::string resets;
    for (int i = 0; i < 100; ++i, stream += 2) {
      resets += ResetCall(stream, "/isocenter.v1.JobService/ListJobs");
    }
    attacker.Send(resets);
  }
  EXPECT_TRUE(attacker.IsClosed());
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
  // The same host is kept out for a while, another one is not.
  RawConnection again(Port(), "127.0.0.2");
  EXPECT_TRUE(Eventually([&] { return again.IsClosed(); }));
  ASSERT_TRUE(live->Write(20, 40));
  live->stream->Write(FinishMessage());
  live->stream->WritesDone();
  EXPECT_NE(live->End().result(), nullptr);
}

TEST_F(CallersTest, AnswersAreNoAttackWhateverTheySay) {
  for (int i = 0; i < 1500; ++i) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::GetJobRequest request;
    request.set_job_id("none");
    v1::Job job;
    ASSERT_EQ(jobs_->GetJob(&context, request, &job).error_code(), StatusCode::NOT_FOUND) << i;
  }
}

}  // namespace
}  // namespace isocenter::testing
