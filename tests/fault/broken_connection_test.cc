// Consoles behind a network that cuts, stalls and falls silent.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/acquisition_stream.h"
#include "client/job_client.h"
#include "grpcpp/channel.h"
#include "isocenter/v1/acquisition.grpc.pb.h"
#include "isocenter/v1/jobs.grpc.pb.h"
#include "tests/fault/campaign.h"
#include "tests/fault/daemon.h"
#include "tests/fault/proxy.h"
#include "tests/fault/scan_console.h"
#include "tests/fault/small_scan.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::testing {
namespace {

constexpr int64_t kScanBytes = kScanFrames * kScanFrameBytes;

class BrokenConnectionTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(daemon_.grpc_port(), 0) << "isocenterd did not start"; }

  void ExpectTheVolume(const ScanConsole& console) {
    ASSERT_TRUE(console.Await([](const ScanConsole::Told&) { return false; }));
    ASSERT_TRUE(console.told().ended->ok()) << *console.told().ended;
    ExpectTheVolumeOf(console.told().job_id);
  }
  void ExpectTheVolumeOf(const std::string& job_id) {
    const auto volume = VolumeOf(ChannelTo(daemon_.grpc_port()), job_id);
    ASSERT_TRUE(volume.ok()) << volume.status();
    EXPECT_TRUE(SameBits(*volume, UndisturbedVolume()));
  }

  TemporaryDirectory directory_;
  Daemon daemon_{directory_.path().string()};
  Chance chance_;
};

TEST_F(BrokenConnectionTest, CutAtAnyByte) {
  const int rounds = Rounds(8, 100);
  int cuts = 0, resumed = 0;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    // The third connection is left alone.
    std::vector<ConnectionFate> fates(2);
    for (ConnectionFate& fate : fates) {
      // Now and then within what a connection begins with.
      fate.cut_after = chance_.Integer(1, chance_.OneIn(4) ? 1000 : kScanBytes * 9 / 10);
      fate.reset = chance_.OneIn(2);
    }
    Proxy proxy(daemon_.grpc_port(), [fates](int connection) {
      return connection < static_cast<int>(fates.size()) ? fates[connection] : ConnectionFate{};
    });
    ScanConsole console(proxy.port(), ScanHeader(absl::StrCat("cut-", round)),
                        {.between_frames = absl::ZeroDuration()});
    ExpectTheVolume(console);
    cuts += proxy.connections() - 1;
    resumed += console.told().contacts - 1;
  }
  std::printf("%d scans, %d connections cut, %d jobs taken up again\n", rounds, cuts, resumed);
  EXPECT_GT(resumed, 0);
}

// From the first packet on, also before the server has admitted the scan: one job, one series.
TEST_F(BrokenConnectionTest, CutAtAnyMomentOfTheFirstSecond) {
  const int rounds = Rounds(20, 200);
  int cuts = 0, before_admission = 0;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    std::vector<ConnectionFate> fates(chance_.Integer(1, 3));
    for (ConnectionFate& fate : fates) {
      // An opening takes some 10 ms here: most of them are cut within it.
      fate.lifetime = absl::Microseconds(chance_.Integer(0, chance_.OneIn(4) ? 1'000'000 : 20'000));
      fate.reset = chance_.OneIn(2);
      fate.delay = absl::Microseconds(chance_.Integer(0, 1000));
    }
    Proxy proxy(daemon_.grpc_port(), [fates](int connection) {
      return connection < static_cast<int>(fates.size()) ? fates[connection] : ConnectionFate{};
    });
    const std::string request_id = chance_.OneIn(2) ? absl::StrCat("second-", round) : "";
    int interruptions = 0;
    auto stream = client::AcquisitionStream::Open(
        *client::ServiceChannel::Open({.address = absl::StrCat("127.0.0.1:", proxy.port())}),
        ScanHeader(request_id),
        {.on_interrupted = [&interruptions](const absl::Status&) { ++interruptions; }});
    ASSERT_TRUE(stream.ok()) << stream.status();
    before_admission += interruptions;
    for (int i = 0; i < kScanFrames; ++i) ASSERT_TRUE((*stream)->SendFrame(i, ScanFrame(i)).ok());
    const auto result = (*stream)->Finish();
    ASSERT_TRUE(result.ok()) << result.status();
    cuts += proxy.connections() - 1;
    if (round % 10 == 0) ExpectTheVolumeOf(result->job_id());
  }
  // Each scan is one job.
  const auto jobs = client::JobClient(ChannelTo(daemon_.grpc_port())).List({}, 2 * rounds);
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  EXPECT_EQ(static_cast<int>(jobs->size()), rounds);
  std::printf("%d scans, %d connections cut, %d openings repeated\n", rounds, cuts,
              before_admission);
  EXPECT_GT(before_admission, 0);
}

TEST_F(BrokenConnectionTest, StallsAndDelaysBreakNothing) {
  const int rounds = Rounds(4, 40);
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    ConnectionFate fate;
    fate.stall_after = chance_.Integer(1, kScanBytes);
    fate.stall = absl::Milliseconds(chance_.Integer(50, 600));
    fate.largest_piece = static_cast<int>(chance_.Integer(100, 65536));
    fate.delay = absl::Microseconds(chance_.Integer(0, 50));
    Proxy proxy(daemon_.grpc_port(), [fate](int) { return fate; });
    ScanConsole console(proxy.port(), ScanHeader(absl::StrCat("stall-", round)));
    ExpectTheVolume(console);
    EXPECT_EQ(console.told().contacts, 1);
  }
}

// The server cannot know that the first connection is dead; a second stream says so.
TEST_F(BrokenConnectionTest, ASecondStreamTakesOverFromAHalfOpenOne) {
  Proxy proxy(daemon_.grpc_port(), [](int) { return ConnectionFate{}; });
  const int frames = static_cast<int>(chance_.Integer(1, kScanFrames - 1));
  ScanConsole silent(proxy.port(), ScanHeader("half-open"), {.stop_before = frames});
  ASSERT_TRUE(silent.Await([frames](const ScanConsole::Told& told) {
    return static_cast<int>(told.acknowledged.size()) == frames;
  }));
  proxy.Freeze();
  silent.Continue();

  auto stream = client::AcquisitionStream::Resume(ChannelTo(daemon_.grpc_port()),
                                                  ScanHeader("half-open"), silent.told().job_id);
  ASSERT_TRUE(stream.ok()) << stream.status();
  // One more may have been on its way when the connection froze.
  const int first = static_cast<int>((*stream)->accepted().next_frame_index());
  EXPECT_GE(first, frames);
  for (int i = first; i < kScanFrames; ++i) {
    ASSERT_TRUE((*stream)->SendFrame(i, ScanFrame(i)).ok());
  }
  const auto result = (*stream)->Finish();
  ASSERT_TRUE(result.ok()) << result.status();
  ExpectTheVolumeOf(result->job_id());
}

// Responses that nobody reads are not piled up, and hold nobody else up.
TEST_F(BrokenConnectionTest, ReadersThatNeverReadTakeNoMemory) {
  constexpr int kReaders = 8;
  // Less than one scan and its volume for each reader: 3 MB of frames, of which the spool has the
  // page cache, 1 MB of voxels, and 1 MB of previews.
  constexpr int64_t kAllowedBytes = 48 << 20;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(StreamScan(ChannelTo(daemon_.grpc_port()), ScanHeader("")).ok());
  }
  const int64_t before = daemon_.ResidentBytes();
  struct Reader {
    std::unique_ptr<v1::AcquisitionService::Stub> stub;
    grpc::ClientContext context, download_context;
    std::unique_ptr<grpc::ClientReaderWriter<v1::AcquireRequest, v1::AcquireResponse>> stream;
    std::unique_ptr<v1::JobService::Stub> jobs;
    std::unique_ptr<grpc::ClientReader<v1::DownloadResultResponse>> download;
  };
  const auto known = StreamScan(ChannelTo(daemon_.grpc_port()), ScanHeader(""));
  ASSERT_TRUE(known.ok());
  std::vector<std::unique_ptr<Reader>> readers;
  for (int i = 0; i < kReaders; ++i) {
    Reader& reader = *readers.emplace_back(std::make_unique<Reader>());
    const auto channel = ChannelTo(daemon_.grpc_port()).grpc_channel();
    reader.stub = v1::AcquisitionService::NewStub(channel);
    reader.stream = reader.stub->Acquire(&reader.context);
    v1::AcquireRequest request;
    *request.mutable_header() = ScanHeader("");
    ASSERT_TRUE(reader.stream->Write(request));
    v1::DownloadResultRequest download;
    download.set_job_id(*known);
    download.set_format(v1::RESULT_FORMAT_RAW_FLOAT32);
    reader.jobs = v1::JobService::NewStub(channel);
    reader.download = reader.jobs->DownloadResult(&reader.download_context, download);
  }
  for (int f = 0; f < kScanFrames; ++f) {
    for (const auto& reader : readers) {
      v1::AcquireRequest request;
      request.mutable_frame()->set_index(f);
      request.mutable_frame()->set_pixels(ScanFrame(f).data(), kScanFrameBytes);
      ASSERT_TRUE(reader->stream->Write(request));
    }
  }
  const absl::Time begin = absl::Now();
  const auto other = StreamScan(ChannelTo(daemon_.grpc_port()), ScanHeader(""));
  ASSERT_TRUE(other.ok()) << other.status();
  const absl::Duration took = absl::Now() - begin;
  ExpectTheVolumeOf(*other);
  int64_t most = 0;
  for (int i = 0; i < 20; ++i) {
    most = std::max(most, daemon_.ResidentBytes());
    absl::SleepFor(absl::Milliseconds(50));
  }
  std::printf(
      "resident: %.1f MiB before, %.1f with %d readers that do not read; a scan beside them: "
      "%.2f s\n",
      before / 1048576., most / 1048576., kReaders, absl::ToDoubleSeconds(took));
  if (!ISOCENTER_SANITIZED) {
    EXPECT_LT(most - before, kAllowedBytes);
  }
  EXPECT_LT(took, absl::Seconds(60)) << "the others have no right to hold a scan up";
  for (const auto& reader : readers) {
    reader->context.TryCancel();
    reader->download_context.TryCancel();
  }
}

}  // namespace
}  // namespace isocenter::testing
