// The pipeline with fakes around it, on the reference backend.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/backends.h"
#include "server/jobs/job_table.h"
#include "server/pipeline/engine.h"
#include "server/scheduler/scheduler.h"
#include "tests/server/fakes/fake_stores.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::testing {

struct PipelineUnderTest {
  explicit PipelineUnderTest(int64_t memory_bytes = 64 << 20, int max_active_jobs = 8) {
    device = *Backends().OpenDevice("reference", {.memory_bytes = memory_bytes, .threads = 1});
    std::vector<std::unique_ptr<scheduler::DeviceSlot>> slots;
    slots.push_back(
        std::make_unique<scheduler::DeviceSlot>("reference0", memory_bytes, "iso-slot-0"));
    scheduler = std::make_unique<scheduler::Scheduler>(std::move(slots), max_active_jobs);
    engine = std::make_unique<pipeline::Engine>(
        Backends(), std::vector<pipeline::Engine::SlotDevices>{{device.get()}}, *scheduler, table,
        results, observer);
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
