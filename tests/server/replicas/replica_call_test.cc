// The protocol between nodes, over gRPC on loopback: what origins send, and what strangers might.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/server_builder.h"
#include "isocenter/v1/replicas.grpc.pb.h"
#include "kernels/base/crc32c.h"
#include "server/config/server_config.h"
#include "server/rpc/replicas/grpc_keeper.h"
#include "server/rpc/replicas/replica_service.h"
#include "tests/server/replicas/replica_fixture.h"

namespace isocenter::rpc {
namespace {

using replicas::HeaderOf;
using replicas::kFirst;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kBytes = 1000;  // of a frame of HeaderOf

using grpc::StatusCode;

class ReplicaCallTest : public replicas::ReplicaStoreTest {
 protected:
  void SetUp() override {
    ReplicaStoreTest::SetUp();
    config_.mutable_cluster()->mutable_replication()->add_origin()->set_node(kFirst.node);
    config_.mutable_limits()->set_max_active_jobs(2);
    config::ApplyDefaults(config_);
    Serve();
  }
  void Serve() {
    guard_ = std::make_unique<Guard>(
        Guard::Settings{.node_name = "recon2", .limits = config_.limits(), .clock = absl::Now});
    service_ = std::make_unique<ReplicaService>(*guard_, *store_, config_);
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(service_.get());
    builder.SetMaxReceiveMessageSize(static_cast<int>(config_.limits().max_message_bytes()));
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    address_ = absl::StrCat("127.0.0.1:", port);
    v1::ReplicaKeeperConfig keeper;
    keeper.set_address(address_);
    keeper_ = *OpenKeeper(keeper);
    stub_ = v1::ReplicaService::NewStub(
        grpc::CreateChannel(address_, grpc::InsecureChannelCredentials()));
  }
  void TearDown() override {
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
    service_->calls().WaitUntilNone(absl::InfiniteFuture());
  }

  static std::string PixelsOf(int index) {
    const spool::Bytes bytes = spool::PixelsOf(index, kBytes);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  static v1::KeepReplicaRequest Header() {
    v1::KeepReplicaRequest request;
    v1::ReplicaHeader& header = *request.mutable_header();
    header.mutable_origin()->set_node(kFirst.node);
    header.mutable_origin()->set_spool_id(kFirst.spool_id);
    header.set_job_id("job");
    header.set_frames(3);
    header.set_frame_bytes(kBytes);
    header.set_acquisition("acquisition of job");
    header.set_begun_by("token room1");
    return request;
  }
  static v1::KeepReplicaRequest FrameOf(int index) {
    v1::KeepReplicaRequest request;
    v1::Frame& frame = *request.mutable_frame();
    frame.set_index(index);
    frame.set_pixels(PixelsOf(index));
    frame.set_crc32c(Crc32c(std::as_bytes(std::span(frame.pixels()))));
    frame.set_has_checksum(true);
    return request;
  }
  static v1::KeepReplicaRequest HeaderWith(const std::function<void(v1::ReplicaHeader&)>& change) {
    v1::KeepReplicaRequest request = Header();
    change(*request.mutable_header());
    return request;
  }
  static v1::KeepReplicaRequest FrameWith(const std::function<void(v1::Frame&)>& change) {
    v1::KeepReplicaRequest request = FrameOf(0);
    change(*request.mutable_frame());
    return request;
  }
  /// Sends all, and reads until the call ends.
  grpc::Status Send(const std::vector<v1::KeepReplicaRequest>& requests) {
    grpc::ClientContext context;
    const auto stream = stub_->KeepReplica(&context);
    for (const v1::KeepReplicaRequest& request : requests) {
      if (!stream->Write(request)) break;
    }
    stream->WritesDone();
    v1::KeepReplicaResponse response;
    while (stream->Read(&response)) {
    }
    return stream->Finish();
  }
  struct Wrong {
    std::vector<v1::KeepReplicaRequest> sent;
    StatusCode code;
    const char* text;
  };
  void ExpectRefused(const std::vector<Wrong>& all) {
    for (const Wrong& wrong : all) {
      const grpc::Status status = Send(wrong.sent);
      EXPECT_EQ(status.error_code(), wrong.code) << wrong.text << ": " << status.error_message();
      EXPECT_THAT(status.error_message(), HasSubstr(wrong.text));
    }
  }

  v1::ServerConfig config_;
  std::unique_ptr<Guard> guard_;
  std::unique_ptr<ReplicaService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
  std::unique_ptr<replicas::Keeper> keeper_;
  std::unique_ptr<v1::ReplicaService::Stub> stub_;
};

TEST_F(ReplicaCallTest, FramesGapsAndTheEndAreKept) {
  const auto stream = keeper_->Open();
  const auto has = stream->Begin(HeaderOf("job"));
  ASSERT_TRUE(has.ok()) << has.status();
  EXPECT_THAT(*has, ElementsAre(false, false, false));
  jobs::FrameMeasurement measured{
      .matrix = spool::MatrixOf(1), .dose = spool::DoseOf(1), .phase = spool::PhaseOf(1)};
  ASSERT_TRUE(stream->SendFrame(1, PixelsOf(1), measured).ok());
  EXPECT_EQ(*stream->AwaitKept(), 1);
  ASSERT_TRUE(stream->SendGap(2).ok());
  EXPECT_EQ(*stream->AwaitKept(), 2);
  ASSERT_TRUE(stream->SendFrame(0, PixelsOf(0), {}).ok());
  EXPECT_EQ(*stream->AwaitKept(), 0);
  ASSERT_TRUE(stream->SendFinish().ok());
  // Another stream of the same job is told what is there.
  const auto again = keeper_->Open();
  EXPECT_THAT(*again->Begin(HeaderOf("job")), ElementsAre(true, true, true));
  const auto writer = Begin(HeaderOf("job"));
  spool::ExpectFrame(writer->frames(), 1, kBytes);
  spool::ExpectFrame(writer->frames(), 0, kBytes);
  EXPECT_EQ(writer->frames().states()[2], jobs::FrameState::kGap);
  for (int i = 0; i < 200 && !writer->frames().finished(); ++i)
    absl::SleepFor(absl::Milliseconds(10));
  EXPECT_TRUE(writer->frames().finished());
}

TEST_F(ReplicaCallTest, DuplicatesAreKeptOnceAndAcknowledgedTwice) {
  const auto stream = keeper_->Open();
  ASSERT_TRUE(stream->Begin(HeaderOf("job")).ok());
  ASSERT_TRUE(stream->SendFrame(0, PixelsOf(0), {}).ok());
  EXPECT_EQ(*stream->AwaitKept(), 0);
  ASSERT_TRUE(stream->SendFrame(0, PixelsOf(2), {}).ok());  // what stands is not written again
  EXPECT_EQ(*stream->AwaitKept(), 0);
  spool::ExpectFrame(Begin(HeaderOf("job"))->frames(), 0, kBytes);
}

TEST_F(ReplicaCallTest, GapsWithoutEndAreOneGap) {
  constexpr int kTold = 2000;
  const auto stream = keeper_->Open();
  ASSERT_TRUE(stream->Begin(HeaderOf("job")).ok());
  int answered = 0;
  std::thread reader([&] {
    while (answered < kTold && stream->AwaitKept().ok()) ++answered;
  });
  for (int i = 0; i < kTold; ++i) ASSERT_TRUE(stream->SendGap(2).ok());
  reader.join();
  EXPECT_EQ(answered, kTold);
  const auto writer = Begin(HeaderOf("job"));
  EXPECT_EQ(writer->frames().states()[2], jobs::FrameState::kGap);
  EXPECT_EQ(writer->frames().states()[0], jobs::FrameState::kMissing);
}

TEST_F(ReplicaCallTest, OperatorsListTakeAndDropCopies) {
  const auto writer_of = [this] { return Begin(HeaderOf("job")); };
  ASSERT_TRUE(spool::AppendNow(writer_of()->frames(), spool::FrameOf(1, kBytes)).ok());
  const auto ask = [](auto&& call) {
    grpc::ClientContext context;
    return call(&context);
  };
  v1::ListReplicasResponse list;
  const auto listed = [&] {
    list.Clear();
    return ask([&](auto* context) { return stub_->ListReplicas(context, {}, &list); });
  };
  ASSERT_TRUE(listed().ok());
  ASSERT_EQ(list.replica_size(), 1);
  EXPECT_EQ(list.replica(0).job_id(), "job");
  EXPECT_EQ(list.replica(0).origin().node(), kFirst.node);
  EXPECT_EQ(list.replica(0).state(), v1::REPLICA_STATE_KEPT);
  EXPECT_EQ(list.replica(0).frames(), 3u);
  EXPECT_EQ(list.replica(0).frames_present(), 1u);
  EXPECT_GT(list.used_bytes(), 0u);
  const auto take = [&](const std::string& job) {
    v1::TakeReplicaRequest request;
    request.set_job_id(job);
    v1::TakeReplicaResponse response;
    return ask([&](auto* context) { return stub_->TakeReplica(context, request, &response); });
  };
  const auto drop = [&](bool force) {
    v1::DropReplicaRequest request;
    request.set_job_id("job");
    request.set_force(force);
    v1::DropReplicaResponse response;
    return ask([&](auto* context) { return stub_->DropReplica(context, request, &response); });
  };
  EXPECT_EQ(take("job").error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(take("../x").error_code(), StatusCode::NOT_FOUND);
  now_ += absl::Seconds(4);
  ASSERT_TRUE(take("job").ok());
  ASSERT_TRUE(listed().ok());
  EXPECT_EQ(list.replica(0).state(), v1::REPLICA_STATE_ORPHANED);
  const grpc::Status careless = drop(false);
  EXPECT_EQ(careless.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(careless.error_message(), HasSubstr("may be nowhere else"));
  ASSERT_TRUE(drop(true).ok());
  ASSERT_TRUE(listed().ok());
  EXPECT_EQ(list.replica_size(), 0);
}

TEST_F(ReplicaCallTest, AHeaderThatNoOriginSendsEndsTheCall) {
  ExpectRefused({
      {{FrameOf(0)}, StatusCode::FAILED_PRECONDITION, "the first message is no header"},
      {{HeaderWith([](v1::ReplicaHeader& h) { h.set_job_id("../../spool/other"); })},
       StatusCode::INVALID_ARGUMENT,
       "header.job_id is '../../spool/other'"},
      {{HeaderWith([](v1::ReplicaHeader& h) { h.mutable_origin()->set_node("recon3"); })},
       StatusCode::PERMISSION_DENIED,
       "says that it is node 'recon3'"},
      {{HeaderWith([](v1::ReplicaHeader& h) { h.set_frame_bytes(uint64_t{1} << 63); })},
       StatusCode::INVALID_ARGUMENT,
       "header.frame_bytes is 9223372036854775808"},
      {{HeaderWith([](v1::ReplicaHeader& h) { h.set_acquisition(std::string(5 << 20, 'a')); })},
       StatusCode::INVALID_ARGUMENT,
       "legal is at most"},
  });
  EXPECT_EQ(store_->usage().copies, 0);
}

TEST_F(ReplicaCallTest, AFrameThatNoOriginSendsEndsTheCall) {
  ExpectRefused({
      {{Header(), FrameOf(3)}, StatusCode::INVALID_ARGUMENT, "frame.index is 3; legal is 0 to 2"},
      {{Header(), FrameWith([](v1::Frame& f) { f.set_dose(std::nanf("")); })},
       StatusCode::INVALID_ARGUMENT,
       "nan"},
      {{Header(), FrameWith([](v1::Frame& f) {
          for (int i = 0; i < 12; ++i) f.mutable_measured_matrix()->add_value(std::nan(""));
        })},
       StatusCode::INVALID_ARGUMENT,
       "value 0 is nan; legal is a finite number"},
      {{Header(), FrameWith([](v1::Frame& f) { f.set_index(0xFFFFFFFF); })},
       StatusCode::INVALID_ARGUMENT,
       "frame.index is 4294967295"},
      {{Header(), FrameWith([](v1::Frame& f) { f.set_pixels(std::string(kBytes - 1, 'a')); })},
       StatusCode::INVALID_ARGUMENT,
       "has 999 bytes; a frame of this job has 1000"},
      {{Header(), FrameWith([](v1::Frame& f) { f.set_pixels(std::string(64 << 10, 'a')); })},
       StatusCode::INVALID_ARGUMENT,
       "bytes; legal is at most 5096 here"},
      {{Header(), FrameWith([](v1::Frame& f) { f.set_crc32c(1); })},
       StatusCode::DATA_LOSS,
       "its CRC-32C is 00000001"},
      {{Header(), FrameWith([](v1::Frame& f) { f.set_has_checksum(false); })},
       StatusCode::INVALID_ARGUMENT,
       "has no checksum"},
  });
  EXPECT_LE(store_->usage().copies, 1);
}

TEST_F(ReplicaCallTest, WhatComesOutOfPlaceEndsTheCall) {
  v1::KeepReplicaRequest gap;
  gap.mutable_gap()->set_index(3);
  ExpectRefused({
      {{Header(), Header()}, StatusCode::FAILED_PRECONDITION, "a second header"},
      {{Header(), gap}, StatusCode::INVALID_ARGUMENT, "gap.index is 3; legal is 0 to 2"},
      {{Header(), v1::KeepReplicaRequest()}, StatusCode::FAILED_PRECONDITION, "unset"},
  });
  EXPECT_LE(store_->usage().copies, 1);
}

TEST_F(ReplicaCallTest, AFullDiskIsTheAnswer) {
  options_.spool.capacity_bytes = 1;
  TearDown();
  service_.reset();
  Start();
  Serve();
  const auto begun = keeper_->Open()->Begin(HeaderOf("job"));
  EXPECT_EQ(begun.status().code(), absl::StatusCode::kResourceExhausted) << begun.status();
}

TEST_F(ReplicaCallTest, CopiesAtOnceAreBounded) {
  std::vector<std::unique_ptr<replicas::ReplicaStream>> streams;
  for (int i = 0; i < 18; ++i) {
    streams.push_back(keeper_->Open());
    ASSERT_TRUE(streams.back()->Begin(HeaderOf(absl::StrCat("job", i))).ok()) << i;
  }
  const auto another = keeper_->Open()->Begin(HeaderOf("another"));
  EXPECT_EQ(another.status().code(), absl::StatusCode::kResourceExhausted) << another.status();
  EXPECT_THAT(std::string(another.status().message()), HasSubstr("legal is at most 18"));
}

TEST_F(ReplicaCallTest, ReportsAreOfTheOriginAlone) {
  { ASSERT_TRUE(keeper_->Open()->Begin(HeaderOf("job")).ok()); }
  EXPECT_EQ(keeper_->Report({.node = "recon3", .spool_id = kFirst.spool_id}, {}).code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(keeper_->Report(kFirst, {"job"}).ok());
  EXPECT_EQ(keeper_->Report(kFirst, std::vector<std::string>(10001, "x")).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(store_->usage().copies, 1);
}

TEST_F(ReplicaCallTest, AKeeperThatIsNotThereIsUnavailable) {
  TearDown();
  EXPECT_EQ(keeper_->Open()->Begin(HeaderOf("job")).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(keeper_->Report(kFirst, {}).code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace isocenter::rpc
