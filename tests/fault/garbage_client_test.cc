// Whatever a client sends, the real server goes on serving and its memory stays flat.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/security/credentials.h"
#include "isocenter/v1/acquisition.grpc.pb.h"
#include "isocenter/v1/jobs.grpc.pb.h"
#include "tests/contract/messages.h"
#include "tests/fault/daemon.h"
#include "tests/fault/http2_frames.h"
#include "tests/fault/raw_connection.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::testing {
namespace {

// What stays after the attacks: caches of threads, tables that have grown, fragments. A leak of one
// connection's or one stream's state (some 10 KiB each) in each of the thousands of attempts would
// exceed it, as would one header of the largest legal size, 2 MiB, which grows to some 30 times
// that when it is parsed.
constexpr int64_t kAllowedBytes = 24 << 20;
// The server gives unused memory back every 5 seconds.
constexpr absl::Duration kToGiveBack = absl::Seconds(60);
// A sanitizer keeps freed memory for a while, to recognise whoever still uses it, and its own
// records.
constexpr bool kMemoryComesBack = !ISOCENTER_SANITIZED;
constexpr int kRepeats = 4;

class GarbageClientTest : public ::testing::Test {
 protected:
  GarbageClientTest() {
    // Small enough that the refusals of large jobs come from the limits, not from this machine.
    // Jobs of attackers who are gone make room soon.
    daemon_ =
        std::make_unique<Daemon>(directory_.path().string(),
                                 std::vector<std::string>{"--memory_bytes=268435456", "--threads=2",
                                                          "--reconnect_seconds=1"});
  }

  void SetUp() override {
    ASSERT_NE(daemon_->grpc_port(), 0) << "isocenterd did not start";
    console_ = NewStub();
    // Warm: everything that is allocated once has been.
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(ReconstructsAValidJob());
    resident_before_ = daemon_->ResidentBytes();
  }

  /// The server must survive `attack`, again and again, and its memory must come back to
  /// what it was.
  void Withstands(const std::function<void()>& attack) {
    for (int i = 0; i < kRepeats; ++i) attack();
    ASSERT_TRUE(daemon_->IsRunning()) << "the server has gone";
    EXPECT_TRUE(ReconstructsAValidJob());
    if (kMemoryComesBack) ExpectFlatMemory();
    const absl::Time stopped = absl::Now();
    daemon_->Signal(SIGTERM);
    EXPECT_EQ(daemon_->Wait(), 0);
    // Less than the minute for which it would wait for jobs.
    EXPECT_LT(absl::Now() - stopped, absl::Seconds(40))
        << "a job waited for a client that had left";
  }

  void ExpectFlatMemory() {
    const int64_t peak = daemon_->ResidentBytes();
    const absl::Time give_up = absl::Now() + kToGiveBack;
    while (daemon_->ResidentBytes() > resident_before_ + kAllowedBytes && absl::Now() < give_up) {
      absl::SleepFor(absl::Milliseconds(200));
    }
    const int64_t after = daemon_->ResidentBytes();
    std::printf("resident: %.1f MiB before, %.1f at the end of the attacks, %.1f afterwards\n",
                resident_before_ / 1048576., peak / 1048576., after / 1048576.);
    EXPECT_LE(after - resident_before_, kAllowedBytes);
  }

  std::unique_ptr<v1::AcquisitionService::Stub> NewStub() const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
    return v1::AcquisitionService::NewStub(grpc::CreateCustomChannel(
        daemon_->grpc_address(), grpc::InsecureChannelCredentials(), arguments));
  }

  grpc::Status Acquire(v1::AcquisitionService::Stub& stub,
                       const std::vector<v1::AcquireRequest>& messages, bool* completed = nullptr) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(120));
    const auto stream = stub.Acquire(&context);
    for (const v1::AcquireRequest& message : messages) {
      if (!stream->Write(message)) break;
    }
    stream->WritesDone();
    v1::AcquireResponse response;
    while (stream->Read(&response)) {
      if (completed != nullptr && response.has_result()) *completed = true;
    }
    return stream->Finish();
  }

  /// Tries again for a while when there is no room: calls of the attack may still be ending.
  bool ReconstructsAValidJob() {
    const absl::Time give_up = absl::Now() + absl::Seconds(60);
    bool completed = false;
    grpc::Status status;
    do {
      status = Acquire(*console_, WholeAcquisition(SmallHeader()), &completed);
    } while (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED && absl::Now() < give_up);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return completed;
  }

  std::string RandomBytes(size_t longest) {
    std::string bytes(random_() % (longest + 1), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random_());
    return bytes;
  }

  TemporaryDirectory directory_;
  std::unique_ptr<Daemon> daemon_;
  // On a connection of its own from before the attacks: on a fast machine their host may not open
  // another for a while.
  std::unique_ptr<v1::AcquisitionService::Stub> console_;
  int64_t resident_before_ = 0;
  std::mt19937 random_{20260101};
};

TEST_F(GarbageClientTest, RandomBytes) {
  Withstands([&] {
    for (int i = 0; i < 1000; ++i) {
      RawConnection connection(daemon_->grpc_port());
      ASSERT_TRUE(connection.connected());
      connection.Send(RandomBytes(i % 50 == 0 ? 1 << 20 : 2000));
      if (i % 10 == 0) connection.Read();
    }
  });
}

TEST_F(GarbageClientTest, TruncatedAndMalformedHttp2) {
  Withstands([&] {
    const std::string settings = Http2Frame(kSettings, 0, 0, "");
    for (int i = 0; i < 300; ++i) {
      RawConnection connection(daemon_->grpc_port());
      ASSERT_TRUE(connection.connected());
      std::string bytes = kHttp2Preface + settings;
      switch (i % 6) {
        case 0:  // cut off anywhere
          bytes.resize(random_() % bytes.size());
          break;
        case 1:  // headers that are no HPACK
          bytes += Http2Frame(kHeaders, 4, 1, RandomBytes(500));
          break;
        case 2:  // a frame that claims 16 MiB and never comes
          bytes += Http2Frame(kData, 0, 1, RandomBytes(100), (1 << 24) - 1);
          break;
        case 3:  // data for streams that do not exist
          for (uint32_t stream = 1; stream < 40; stream += 2) {
            bytes += Http2Frame(kData, 0, stream, RandomBytes(100));
          }
          break;
        case 4:  // pings without end
          for (int ping = 0; ping < 500; ++ping) bytes += Http2Frame(kPing, 0, 0, "12345678");
          break;
        default:  // random frames
          for (int frame = 0; frame < 20; ++frame) {
            bytes += Http2Frame(static_cast<char>(random_() % 12), static_cast<char>(random_()),
                                random_() % 8, RandomBytes(200));
          }
      }
      connection.Send(bytes);
      if (i % 3 == 0) connection.Read();
    }
  });
}

TEST_F(GarbageClientTest, HostileHeaders) {
  Withstands([&] {
    const auto stub = NewStub();
    const std::vector<std::function<void(v1::AcquisitionHeader&)>> attacks = {
        [](auto& h) { h.set_frame_count(4294967295u); },
        [](auto& h) {  // 4096^3 voxels of 10000 frames
          h.set_frame_count(10000);
          h.mutable_circular()->set_arc_deg(360. * 9999 / 10000);
          h.mutable_grid()->set_nx(4096);
          h.mutable_grid()->set_ny(4096);
          h.mutable_grid()->set_nz(4096);
          h.mutable_grid()->set_spacing_x_mm(0.01);
        },
        [](auto& h) {  // the largest weights that planning can be asked for
          h.set_frame_count(10000);
          h.mutable_circular()->set_arc_deg(360. * 9999 / 10000);
          h.mutable_detector()->set_columns(8192);
          h.mutable_detector()->set_pitch_u_mm(0.05);
        },
        [](auto& h) { h.mutable_detector()->set_columns(4294967295u); },
        [](auto& h) { h.mutable_patient_study()->set_patient_name(std::string(3 << 20, 'x')); },
        [](auto& h) { h.set_protocol(std::string(1 << 20, '\x01')); },
        [](auto& h) { h.set_request_id(std::string(1 << 20, '/')); },
        [](auto& h) {  // as many empty matrices as fit into a header
          h.mutable_matrices();
          for (int i = 0; i < 1000000 - 50000; ++i) h.mutable_matrices()->add_matrix();
        },
        [](auto& h) {  // one matrix with 400000 values
          h.set_frame_count(1);
          for (int i = 0; i < 400000; ++i) {
            if (i == 0) h.mutable_matrices()->add_matrix();
            h.mutable_matrices()->mutable_matrix(0)->add_value(1);
          }
        },
        [](auto& h) { h.mutable_circular()->set_source_to_isocenter_mm(std::nan("")); },
        [](auto& h) {
          h.mutable_grid()->set_spacing_x_mm(std::numeric_limits<double>::infinity());
        },
        [](auto& h) { h.mutable_circular()->set_offset_u_px(1e300); },
    };
    for (int repeat = 0; repeat < 3; ++repeat) {
      for (size_t i = 0; i < attacks.size(); ++i) {
        v1::AcquisitionHeader header = SmallHeader();
        attacks[i](header);
        const grpc::Status status = Acquire(*stub, {HeaderMessage(header)});
        EXPECT_THAT(status.error_code(), ::testing::AnyOf(grpc::StatusCode::INVALID_ARGUMENT,
                                                          grpc::StatusCode::NOT_FOUND,
                                                          grpc::StatusCode::RESOURCE_EXHAUSTED))
            << "attack " << i << ": " << status.error_message();
        EXPECT_FALSE(status.error_message().empty()) << "attack " << i;
      }
    }
  });
}

// Mutations reach behind the first checks: most of them still parse.
TEST_F(GarbageClientTest, RandomMutationsOfValidMessages) {
  const auto stub = NewStub();
  Withstands([&] {
    std::vector<std::string> valid;
    for (const v1::AcquireRequest& message : WholeAcquisition(SmallHeader(), 3)) {
      valid.push_back(message.SerializeAsString());
    }
    int parsed = 0;
    for (int i = 0; i < 400; ++i) {
      std::vector<v1::AcquireRequest> messages;
      for (size_t m = 0; m < valid.size(); ++m) {
        std::string bytes = valid[m];
        if (m == static_cast<size_t>(i) % valid.size()) {
          for (uint32_t change = random_() % 8 + 1; change > 0; --change) {
            bytes[random_() % bytes.size()] = static_cast<char>(random_());
          }
          if (random_() % 4 == 0) bytes.resize(random_() % bytes.size());
        }
        v1::AcquireRequest message;
        if (!message.ParseFromString(bytes)) continue;
        ++parsed;
        messages.push_back(message);
      }
      // Without it the job would wait for another stream.
      if (messages.empty() || !messages.back().has_finish()) messages.push_back(FinishMessage());
      const grpc::Status status = Acquire(*stub, messages);
      EXPECT_NE(status.error_code(), grpc::StatusCode::INTERNAL) << status.error_message();
      EXPECT_NE(status.error_code(), grpc::StatusCode::UNKNOWN) << status.error_message();
      EXPECT_NE(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
    }
    EXPECT_GT(parsed, 400);
  });
}

TEST_F(GarbageClientTest, BytesThatAreNoMessages) {
  grpc::GenericStub stub(
      grpc::CreateChannel(daemon_->grpc_address(), grpc::InsecureChannelCredentials()));
  Withstands([&] {
    for (const char* method :
         {"/isocenter.v1.AcquisitionService/Acquire", "/isocenter.v1.JobService/ListJobs",
          "/isocenter.v1.JobService/DownloadResult", "/no.such/Method"}) {
      for (int i = 0; i < 100; ++i) {
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
        grpc::CompletionQueue queue;
        void* tag = nullptr;
        bool ok = false;
        const auto call = stub.PrepareCall(&context, method, &queue);
        call->StartCall(nullptr);
        queue.Next(&tag, &ok);
        const grpc::Slice slice(RandomBytes(3000));
        call->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), nullptr);
        queue.Next(&tag, &ok);
        grpc::Status status;
        call->Finish(&status, nullptr);
        queue.Next(&tag, &ok);
        queue.Shutdown();
        while (queue.Next(&tag, &ok)) {
        }
      }
    }
  });
}

TEST_F(GarbageClientTest, ThousandQuickConnects) {
  Withstands([&] {
    for (int i = 0; i < 1000; ++i) {
      RawConnection connection(daemon_->grpc_port());
      ASSERT_TRUE(connection.connected());
      if (i % 2 == 0) connection.Send(Http2Opening());
    }
    // And by a hundred that speak gRPC, take a header's worth of work, and leave.
    for (int i = 0; i < 100; ++i) {
      const auto stub = NewStub();
      grpc::ClientContext context;
      const auto stream = stub->Acquire(&context);
      stream->Write(HeaderMessage(SmallHeader()));
      context.TryCancel();
      stream->Finish();
    }
  });
}

// CVE-2023-44487: 400,000 of them ended the service, at some 17 KiB of memory each.
TEST_F(GarbageClientTest, StreamsThatAreResetAsSoonAsBegun) {
  int64_t largest = 0;
  Withstands([&] {
    for (const char* method : {"/isocenter.v1.AcquisitionService/Acquire",
                               "/isocenter.v1.JobService/ListJobs", "/no.such/Method"}) {
      RawConnection connection(daemon_->grpc_port(), "127.0.0.2");
      connection.Send(Http2Opening());
      std::string resets;
      for (uint32_t stream = 1; stream < 100'000 && !connection.IsClosed(); stream += 2) {
        resets += ResetCall(stream, method);
        if (stream % 200 != 1) continue;
        connection.Send(resets);
        resets.clear();
      }
      EXPECT_TRUE(connection.IsClosed()) << method;
      largest = std::max(largest, daemon_->ResidentBytes());
      // Other hosts are not concerned.
      EXPECT_TRUE(ReconstructsAValidJob());
    }
  });
  std::printf("resident at most: %.1f MiB\n", largest / 1048576.);
  if (kMemoryComesBack) {
    EXPECT_LT(largest - resident_before_, int64_t{256} << 20);
  }
}

/// Begins messages of 60 MiB and sends all but their last MiB, as far as the server takes it.
class SlowSender {
 public:
  static constexpr uint32_t kStreams = 10;

  explicit SlowSender(int port) : connection_(port, "127.0.0.2") {
    connection_.Send(Http2Opening());
    for (uint32_t i = 0; i < kStreams; ++i) {
      connection_.Send(CallHeaders(Stream(i), i % 2 == 0
                                                  ? "/isocenter.v1.JobService/GetJob"
                                                  : "/isocenter.v1.AcquisitionService/Acquire") +
                       MessageBeginning(Stream(i), 60 << 20, ""));
      windows_.Spend(Stream(i), 5);
    }
  }
  void SendSome() {
    connection_.Send(windows_.Read(connection_.Receive()));
    for (uint32_t i = 0; i < kStreams; ++i) {
      const int64_t bytes = std::min({windows_.Left(Stream(i)), left_[i], kMostBytes});
      if (bytes <= 0) continue;
      connection_.Send(Http2Frame(kData, 0, Stream(i), std::string(bytes, 'x')));
      windows_.Spend(Stream(i), bytes);
      left_[i] -= bytes;
    }
  }

 private:
  static constexpr int64_t kMostBytes = 16384;
  static uint32_t Stream(uint32_t i) { return 2 * i + 1; }
  RawConnection connection_;
  SendWindows windows_;
  std::vector<int64_t> left_ = std::vector<int64_t>(kStreams, 59 << 20);
};

TEST_F(GarbageClientTest, MessagesThatAreNeverFinished) {
  int64_t largest = 0;
  Withstands([&] {
    std::vector<std::unique_ptr<SlowSender>> senders;
    for (int i = 0; i < 5; ++i) {
      senders.push_back(std::make_unique<SlowSender>(daemon_->grpc_port()));
    }
    for (const absl::Time end = absl::Now() + absl::Seconds(6); absl::Now() < end;) {
      for (const auto& sender : senders) sender->SendSome();
      largest = std::max(largest, daemon_->ResidentBytes());
    }
    EXPECT_TRUE(ReconstructsAValidJob());
  });
  std::printf("resident at most: %.1f MiB\n", largest / 1048576.);
  if (kMemoryComesBack) {
    // Four messages of this host, and a MiB of each other stream.
    EXPECT_LT(largest - resident_before_, int64_t{400} << 20);
  }
}

}  // namespace
}  // namespace isocenter::testing
