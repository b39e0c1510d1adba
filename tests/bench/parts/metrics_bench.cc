// isocenter-metrics-bench: what metrics cost, per frame, per job and per scrape. Measures; asserts
// nothing.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/metrics/metrics.h"

namespace isocenter::bench {
namespace {

struct Options {
  int frames = 1'000'000;
  int jobs = 10'000;
  int scrapes = 300;
};

/// Processor time of this process, user and system.
double ProcessorSeconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// Bytes of the answer to GET /metrics.
size_t Scrape(int port) {
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(static_cast<uint16_t>(port))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  size_t bytes = 0;
  const std::string request = "GET /metrics HTTP/1.0\r\n\r\n";
  if (connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 &&
      write(connection, request.data(), request.size()) > 0) {
    char buffer[16384];
    for (ssize_t n; (n = read(connection, buffer, sizeof(buffer))) > 0;) bytes += n;
  }
  close(connection);
  return bytes;
}

/// Prints the processor time of one of `times` calls of `work` by each of `threads` threads.
void Time(const char* what, int times, int threads, const std::function<void(int)>& work) {
  const double begin = ProcessorSeconds();
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&] {
      for (int i = 0; i < times; ++i) work(i);
    });
  }
  for (std::thread& worker : workers) worker.join();
  const double seconds = (ProcessorSeconds() - begin) / times / threads;
  std::printf("%-34s %12.3f us\n", what, 1e6 * seconds);
}

int Run(const Options& options) {
  metrics::Metrics metrics({.version = "bench", .backend = "cpu"});
  metrics::Sources sources;
  sources.device_memory = [] { return std::vector<metrics::DeviceMemory>{{"cpu0", 1000, 250}}; };
  sources.devices_healthy = [] { return std::vector<metrics::DeviceHealth>{{"cpu0", true}}; };
  if (const absl::Status served = metrics.Serve("127.0.0.1:0", sources); !served.ok()) {
    std::fprintf(stderr, "%s\n", served.ToString().c_str());
    return 1;
  }
  std::printf("processor time, user and system\n");
  const auto frame = [&](int i) {
    metrics.OnFrame(2'380'800);
    metrics.OnFrameSpooled(1e-4 * (i % 64));
  };
  Time("frame, 1 thread", options.frames, 1, frame);
  Time("frame, 2 threads", options.frames, 2, frame);

  jobs::Job job;
  job.state = jobs::JobState::kCompleted;
  job.result.timings = {.preprocess = 0.1, .filter = 0.2, .backproject = 1.5, .export_ = 0.4};
  Time("job", options.jobs, 1, [&](int i) {
    job.id = absl::StrCat("job-", i);
    job.station_name = absl::StrCat("room-", i % 16);
    job.progress.frames_total = 496;
    metrics.OnJobAccepted(job);
    metrics.OnComputed("cpu0", 1e9, 0.5);
    metrics.OnPrediction("cpu0", 0.5, 0.5);
    metrics.OnJobEnded(job);
  });
  size_t bytes = 0;
  Time("scrape of 16 rooms, both ends", options.scrapes, 1,
       [&](int) { bytes = Scrape(metrics.port()); });
  std::printf("%zu bytes per scrape\n", bytes);
  return bytes > 0 ? 0 : 1;
}

}  // namespace
}  // namespace isocenter::bench

int main(int argc, char** argv) {
  isocenter::bench::Options options;
  CLI::App app("What metrics cost", "isocenter-metrics-bench");
  app.add_option("--frames", options.frames, "frames that are counted, by each thread")
      ->check(CLI::Range(1, 1'000'000'000))
      ->capture_default_str();
  app.add_option("--jobs", options.jobs, "jobs that end")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--scrapes", options.scrapes, "answers that are fetched")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return isocenter::bench::Run(options);
}
