#include "client/job_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/fake_server.h"

namespace isocenter::client {
namespace {

using client_test::Behaviour;
using client_test::FakeServer;

JobClient ClientOf(const FakeServer& server) {
  return JobClient(*ServiceChannel::Open({.address = server.address()}));
}

struct Files : DicomSink {
  absl::Status OnFileCount(int files) override {
    count = files;
    return absl::OkStatus();
  }
  absl::Status OnFile(const std::string& name) override {
    content.push_back(name + ": ");
    return absl::OkStatus();
  }
  absl::Status OnData(absl::string_view data) override {
    content.back().append(data.data(), data.size());
    return error;
  }
  absl::Status OnEndOfFile() override { return absl::OkStatus(); }
  int count = 0;
  std::vector<std::string> content;
  absl::Status error;
};

struct Voxels : VolumeSink {
  absl::Status OnGrid(const VolumeGrid& g) override {
    grid = g;
    return absl::OkStatus();
  }
  absl::Status OnVoxels(std::span<const float> v) override {
    values.insert(values.end(), v.begin(), v.end());
    return absl::OkStatus();
  }
  VolumeGrid grid;
  std::vector<float> values;
};

TEST(JobClient, ListFollowsThePagesUpToTheLimit) {
  FakeServer server;
  const auto all = ClientOf(server).List({}, 100);
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->size(), 5u);
  EXPECT_EQ(all->back().job_id(), "job-4");
  EXPECT_EQ(ClientOf(server).List({}, 3)->size(), 3u);
}

TEST(JobClient, WatchEndsWithTheJob) {
  FakeServer server;
  std::vector<v1::JobState> states;
  const auto job = ClientOf(server).Watch("job-1", [&](const v1::Job& now) {
    states.push_back(now.state());
    return true;
  });
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(states.size(), 4u);
}

TEST(JobClient, FollowGoesOnAfterBreaks) {
  Behaviour behaviour;
  behaviour.break_watches = 2;
  FakeServer server(behaviour);
  std::vector<v1::JobState> states;
  std::vector<std::string> breaks;
  const auto job = ClientOf(server).Follow(
      "job-1",
      [&](const v1::Job& now) {
        states.push_back(now.state());
        return true;
      },
      [&](const absl::Status& why) { breaks.emplace_back(why.message()); });
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(states.size(), 6u);
  EXPECT_THAT(breaks,
              testing::ElementsAre(testing::HasSubstr("reset"), testing::HasSubstr("reset")));
}

// Neither a job that there is not, nor one of a service that was never there.
TEST(JobClient, FollowDoesNotWaitForWhatItNeverSaw) {
  FakeServer server;
  const auto follow = [&](const std::string& id) {
    return ClientOf(server)
        .Follow(
            id, [](const v1::Job&) { return true; }, [](const absl::Status&) { ADD_FAILURE(); })
        .status()
        .code();
  };
  EXPECT_EQ(follow("none"), absl::StatusCode::kNotFound);
  server.Stop();
  const absl::Time begin = absl::Now();
  EXPECT_EQ(follow("job-1"), absl::StatusCode::kUnavailable);
  EXPECT_LT(absl::Now() - begin, absl::Seconds(30));
}

TEST(JobClient, RefineReturnsTheNewJob) {
  FakeServer server;
  v1::RefineJobRequest request;
  request.set_job_id("job-1");
  request.set_protocol("fdk_then_ossart");
  const auto job = ClientOf(server).Refine(request);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->job_id(), "job-1-refined");
  EXPECT_EQ(job->refines_job_id(), "job-1");
  EXPECT_EQ(job->protocol(), "fdk_then_ossart");
  request.set_job_id("none");
  EXPECT_EQ(ClientOf(server).Refine(request).status().code(), absl::StatusCode::kNotFound);
}

TEST(JobClient, ErrorsComeThroughWithCodeAndMessage) {
  FakeServer server;
  const JobClient client = ClientOf(server);
  EXPECT_EQ(client.Get("none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(client.Cancel("none").status().message(), "there is no job 'none'");
  EXPECT_EQ(client.Delete("active").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(client.Delete("job-1").ok());
  EXPECT_EQ(client.Get("job-7")->job_id(), "job-7");
  EXPECT_EQ(client.ListProtocols()->default_protocol(), "fdk");
  Files files;
  EXPECT_EQ(client.DownloadDicom("none", files).code(), absl::StatusCode::kNotFound);
}

TEST(JobClient, DownloadsFilesAndVolumes) {
  FakeServer server;
  Files files;
  ASSERT_TRUE(ClientOf(server).DownloadDicom("job-1", files).ok());
  EXPECT_EQ(files.count, 2);
  EXPECT_THAT(files.content,
              testing::ElementsAre("slice0.dcm: first second", "slice1.dcm: first second"));
  Voxels voxels;
  ASSERT_TRUE(ClientOf(server).DownloadVolume("job-1", voxels).ok());
  EXPECT_THAT(voxels.values, testing::ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(voxels.grid.origin, (Vec3{-7, 0, 0}));
  EXPECT_EQ(voxels.grid.spacing, (Vec3{0.5, 1, 2}));
}

TEST(JobClient, PathsFromTheServerAreRefused) {
  for (const char* name : {"../evil.dcm", "/etc/evil", "..", "a/b"}) {
    Behaviour behaviour;
    behaviour.dicom_file_name = name;
    FakeServer server(behaviour);
    Files files;
    EXPECT_EQ(ClientOf(server).DownloadDicom("job-1", files).code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(files.content.size(), 1u) << name;
  }
}

TEST(JobClient, IncompleteDownloadsAreDataLoss) {
  Behaviour behaviour;
  behaviour.announced_files = 3;
  behaviour.cut_volume = true;
  FakeServer server(behaviour);
  Files files;
  EXPECT_EQ(ClientOf(server).DownloadDicom("job-1", files).code(), absl::StatusCode::kDataLoss);
  Voxels voxels;
  EXPECT_EQ(ClientOf(server).DownloadVolume("job-1", voxels).code(), absl::StatusCode::kDataLoss);
}

TEST(JobClient, TheConsumersErrorEndsTheDownload) {
  FakeServer server;
  Files files;
  files.error = absl::ResourceExhaustedError("disk full");
  EXPECT_EQ(ClientOf(server).DownloadDicom("job-1", files), files.error);
  EXPECT_EQ(files.content.size(), 1u);
}

}  // namespace
}  // namespace isocenter::client
