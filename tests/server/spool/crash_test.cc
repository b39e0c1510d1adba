// kill -9 in the middle of writing: what was acknowledged is there afterwards.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/time/clock.h"
#include "tests/server/spool/spool_fixture.h"

namespace isocenter::spool {
namespace {

constexpr int kFrames = 400;
// What a child writes beyond the frame whose acknowledgement ends it, so that it always ends in the
// middle of an acquisition, however late the signal comes.
constexpr int kAhead = 100;
constexpr int64_t kBytes = 100'000;

class CrashTest : public SpoolTest, public ::testing::WithParamInterface<SyncPolicy> {};

INSTANTIATE_TEST_SUITE_P(Policies, CrashTest,
                         ::testing::Values(SyncPolicy::kAlways, SyncPolicy::kInterval,
                                           SyncPolicy::kNever));

// In a child, until it is killed: every acknowledged index goes into the pipe.
[[noreturn]] void AppendUntilKilled(const SpoolOptions& options, int frames, int pipe) {
  auto spool = Spool::Open(options);
  if (!spool.ok()) _exit(1);
  auto job = (*spool)->Create("job", "description of job", kFrames, kBytes, 0);
  if (!job.ok()) _exit(2);
  for (int i = 0; i < frames; ++i) {
    (*job)->Append(FrameOf(i, kBytes), [i, pipe](const absl::Status& status) {
      if (!status.ok() || write(pipe, &i, sizeof(i)) != sizeof(i)) _exit(3);
    });
  }
  for (;;) pause();
}

TEST_P(CrashTest, WhatWasAcknowledgedIsThere) {
  options_.sync = GetParam();
  options_.clock = nullptr;
  for (const int until : {1, 40, 150}) {
    SCOPED_TRACE(until);
    std::filesystem::remove_all(options_.directory);
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) AppendUntilKilled(options_, until + kAhead, ends[1]);
    close(ends[1]);
    std::vector<int> acknowledged;
    int index = 0;
    while (read(ends[0], &index, sizeof(index)) == sizeof(index)) {
      acknowledged.push_back(index);
      if (acknowledged.size() == static_cast<size_t>(until)) kill(child, SIGKILL);
    }
    close(ends[0]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "exit status " << WEXITSTATUS(status);
    ASSERT_GE(acknowledged.size(), static_cast<size_t>(until));

    Start();
    auto job = spool_->Open("job");
    ASSERT_TRUE(job.ok()) << job.status();
    EXPECT_EQ((*job)->acquisition(), "description of job");
    const auto states = (*job)->states();
    for (const int i : acknowledged) EXPECT_EQ(states[i], jobs::FrameState::kPresent) << i;
    int present = 0;
    for (int i = 0; i < kFrames; ++i) {
      if (states[i] != jobs::FrameState::kPresent) continue;
      ++present;
      ExpectFrame(**job, i, kBytes);
    }
    EXPECT_LT(present, kFrames);
    // And it goes on.
    for (int i = 0; i < kFrames; i += 7) EXPECT_TRUE(AppendNow(**job, FrameOf(i, kBytes)).ok());
    for (int i = 0; i < kFrames; i += 7) ExpectFrame(**job, i, kBytes);
    job->reset();
    spool_.reset();
  }
}

}  // namespace
}  // namespace isocenter::spool
