// The pipeline with fakes around it, on the reference backend.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/backends.h"
#include "server/jobs/job_table.h"
#include "server/pipeline/engine.h"
#include "server/scheduler/scheduler.h"
#include "tests/server/fakes/fake_stores.h"

namespace isocenter::testing {

/// A directory of its own, removed at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "isocenter-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct PipelineUnderTest {
  explicit PipelineUnderTest(int64_t memory_bytes = 64 << 20, int max_active_jobs = 8) {
    device = *Backends().OpenDevice("reference",
                                    {.memory_bytes = memory_bytes, .threads = 1});
    std::vector<std::unique_ptr<scheduler::DeviceSlot>> slots;
    slots.push_back(
        std::make_unique<scheduler::DeviceSlot>("reference0", memory_bytes, "iso-slot-0"));
    scheduler = std::make_unique<scheduler::Scheduler>(std::move(slots), max_active_jobs);
    engine = std::make_unique<pipeline::Engine>(Backends(), std::vector{device.get()}, *scheduler,
                                                table, results, observer);
  }

  scheduler::DeviceSlot& slot() { return *scheduler->slots()[0]; }

  TemporaryDirectory directory;
  FakeJobStore store;
  FakeResultStore results{directory.path()};
  FakeObserver observer;
  jobs::JobTable table{store, &observer};
  std::unique_ptr<ops::Device> device;
  std::unique_ptr<scheduler::Scheduler> scheduler;
  std::unique_ptr<pipeline::Engine> engine;
};

}  // namespace isocenter::testing
