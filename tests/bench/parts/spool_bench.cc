// isocenter-spool-bench: how fast this machine's disk takes frames, and how soon each is
// acknowledged, by sync policy. Measures; asserts nothing.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/spool/spool.h"

namespace isocenter::bench {
namespace {

struct Options {
  std::string directory;
  int frames = 500;
  int64_t frame_bytes = 1240 * 960 * 2;
  double rate = 0;  // frames per second; 0: as fast as they go
  int writers = 2;
  int under_way = 16;  // frames that are sent and not yet acknowledged, at most
};

double Milliseconds(absl::Duration duration) { return absl::ToDoubleMilliseconds(duration); }

/// A sample of durations.
class Durations {
 public:
  void Add(absl::Duration duration) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    values_.push_back(duration);
  }
  size_t size() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return values_.size();
  }
  /// `share` from 0 to 1; 0 ms when there are none.
  double QuantileMs(double share) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (values_.empty()) return 0;
    std::sort(values_.begin(), values_.end());
    return Milliseconds(values_[static_cast<size_t>(share * (values_.size() - 1))]);
  }

 private:
  mutable absl::Mutex mutex_;
  std::vector<absl::Duration> values_ ABSL_GUARDED_BY(mutex_);
};

absl::Status Measure(const Options& options, const char* name, spool::SyncPolicy policy) {
  Durations acknowledged, syncs;
  spool::SpoolOptions settings;
  settings.directory = options.directory;
  settings.sync = policy;
  settings.writers = options.writers;
  settings.on_sync = [&](absl::Duration duration) { syncs.Add(duration); };
  auto spool = spool::Spool::Open(settings);
  if (!spool.ok()) return spool.status();
  const std::string id = "spool-bench";
  if (absl::Status status = (*spool)->Remove(id); !status.ok()) return status;

  const absl::Time create = absl::Now();
  auto job = (*spool)->Create(id, "bench", options.frames, options.frame_bytes, 0);
  if (!job.ok()) return job.status();
  const absl::Duration created = absl::Now() - create;

  // Noise, so that no layer below finds anything to leave out.
  std::vector<std::byte> pixels(options.frame_bytes);
  std::mt19937 random(1);
  std::generate(pixels.begin(), pixels.end(), [&] { return static_cast<std::byte>(random()); });

  absl::Mutex mutex;
  int under_way = 0;
  absl::Status failure;
  const absl::Time start = absl::Now();
  for (int i = 0; i < options.frames; ++i) {
    if (options.rate > 0) absl::SleepFor(start + absl::Seconds(i / options.rate) - absl::Now());
    const auto may_send = [&] { return under_way < options.under_way; };
    {
      absl::MutexLock lock(&mutex);
      mutex.Await(absl::Condition(&may_send));
      ++under_way;
    }
    jobs::SpoolFrame frame;
    frame.index = i;
    frame.pixels = {pixels};
    const absl::Time sent = absl::Now();
    (*job)->Append(std::move(frame), [&, sent](const absl::Status& status) {
      acknowledged.Add(absl::Now() - sent);
      absl::MutexLock lock(&mutex);
      if (!status.ok()) failure = status;
      --under_way;
    });
  }
  const auto is_done = [&] { return under_way == 0; };
  mutex.LockWhen(absl::Condition(&is_done));
  const absl::Status result = failure;
  mutex.Unlock();
  if (!result.ok()) return result;
  const absl::Duration written = absl::Now() - start;
  job->reset();
  spool->reset();
  const absl::Duration synced = absl::Now() - start;

  spool = spool::Spool::Open(settings);
  if (!spool.ok()) return spool.status();
  const absl::Time open = absl::Now();
  job = (*spool)->Open(id);
  if (!job.ok()) return job.status();
  const absl::Duration opened = absl::Now() - open;
  job->reset();
  if (absl::Status status = (*spool)->Remove(id); !status.ok()) return status;

  const double bytes = static_cast<double>(options.frames) * options.frame_bytes;
  std::printf("%-9s %8.0f %9.0f %9.2f %9.2f %9.2f %6zu %9.1f %9.1f %9.0f\n", name,
              Milliseconds(created), bytes / 1e6 / absl::ToDoubleSeconds(written),
              acknowledged.QuantileMs(0.5), acknowledged.QuantileMs(0.99),
              acknowledged.QuantileMs(1), syncs.size(), syncs.QuantileMs(0.5), syncs.QuantileMs(1),
              Milliseconds(opened));
  std::printf("%-9s all on disk after %.2f s (%.0f MB/s)\n", "", absl::ToDoubleSeconds(synced),
              bytes / 1e6 / absl::ToDoubleSeconds(synced));
  return absl::OkStatus();
}

int Run(const Options& options) {
  std::printf("%d frames of %ld bytes, %s, %d writers, at most %d under way\n", options.frames,
              static_cast<long>(options.frame_bytes),
              options.rate > 0 ? (std::to_string(options.rate) + " per second").c_str()
                               : "as fast as they go",
              options.writers, options.under_way);
  std::printf("%-9s %8s %9s %29s %26s %9s\n", "", "create", "written", "acknowledged after [ms]",
              "syncs [ms]", "open");
  std::printf("%-9s %8s %9s %9s %9s %9s %6s %9s %9s %9s\n", "policy", "[ms]", "[MB/s]", "median",
              "99 %", "max", "number", "median", "max", "[ms]");
  const std::pair<const char*, spool::SyncPolicy> policies[] = {
      {"never", spool::SyncPolicy::kNever},
      {"interval", spool::SyncPolicy::kInterval},
      {"always", spool::SyncPolicy::kAlways}};
  for (const auto& [name, policy] : policies) {
    if (const absl::Status status = Measure(options, name, policy); !status.ok()) {
      std::fprintf(stderr, "%s\n", status.ToString().c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace isocenter::bench

int main(int argc, char** argv) {
  CLI::App app("Measures how fast a disk takes the frames of an acquisition.");
  isocenter::bench::Options options;
  app.add_option("directory", options.directory, "Where to write; a spool of its own")->required();
  app.add_option("--frames", options.frames, "Frames")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--bytes", options.frame_bytes, "Bytes per frame")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--rate", options.rate, "Frames per second (0: as fast as they go)")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--writers", options.writers, "Threads that write")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--under-way", options.under_way, "Frames not yet acknowledged, at most")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return isocenter::bench::Run(options);
}
