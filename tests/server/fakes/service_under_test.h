// The pipeline with a real spool and fakes around it, on the reference backend.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "kernels/backends.h"
#include "server/jobs/job_table.h"
#include "server/pipeline/engine.h"
#include "server/scheduler/scheduler.h"
#include "server/spool/spool.h"
#include "tests/server/fakes/eventually.h"
#include "tests/server/fakes/fake_stores.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::testing {

struct PipelineOptions {
  int64_t memory_bytes = 64 << 20;  // of each slot
  int max_active_jobs = 8;
  int slots = 1;
  int64_t spool_bytes = 0;   // 0: no bound
  bool one_disk = false;     // for results and spool
  absl::Duration retention;  // of frames of jobs that have ended
  /// How long each sync takes that a frame, a gap or the end waits for; 0: none is waited for.
  absl::Duration sync;
  pipeline::EngineOptions engine;
  const ops::Registry* registry = &Backends();
  jobs::Worklist* worklist = nullptr;
  jobs::CalibrationStore* calibrations = nullptr;
};

/// Destroyed in the order in which the service ends.
struct PipelineUnderTest {
  explicit PipelineUnderTest(PipelineOptions wanted = {}) : options(std::move(wanted)) { Start(); }

  void Start() {
    spool::SpoolOptions kept{.directory = directory.path() / "spool",
                             .capacity_bytes = options.spool_bytes,
                             .retention = options.retention};
    if (options.one_disk) {
      results.ShareDiskWith(kept.directory);
      kept.disk = [this] { return results.GetDisk(); };
    }
    if (options.sync > absl::ZeroDuration()) {
      kept.sync = spool::SyncPolicy::kAlways;
      kept.sync_file = [duration = options.sync](int) {
        absl::SleepFor(duration);
        return 0;
      };
    }
    spool = *spool::Spool::Open(std::move(kept));
    table = std::make_unique<jobs::JobTable>(
        store, &observer, [this](const std::string& id) { (void)spool->Remove(id); });
    EXPECT_TRUE(table->Load(absl::Now(), [](const jobs::Job&) { return true; }).ok());
    std::vector<std::unique_ptr<scheduler::DeviceSlot>> made;
    std::vector<pipeline::SlotDevices> groups;
    for (int i = 0; i < options.slots; ++i) {
      devices.push_back(*Backends().OpenDevice(
          "reference", {.memory_bytes = options.memory_bytes, .threads = 1}));
      groups.push_back({devices.back().get()});
      made.push_back(std::make_unique<scheduler::DeviceSlot>(
          absl::StrCat("reference", i), options.memory_bytes, absl::StrCat("iso-slot-", i)));
    }
    scheduler = std::make_unique<scheduler::Scheduler>(std::move(made), options.max_active_jobs);
    engine = std::make_unique<pipeline::Engine>(
        pipeline::EngineEnvironment{*options.registry, *scheduler, *table, *spool, results,
                                    observer, options.worklist, options.calibrations},
        std::move(groups), options.engine);
  }
  /// As when the process ends. Only the stores, the spool's files and the results stay.
  void Stop() {
    engine.reset();
    scheduler.reset();
    devices.clear();
    table.reset();
    spool.reset();
  }
  void Restart() {
    Stop();
    Start();
    engine->Recover();
  }

  scheduler::DeviceSlot& slot(int i = 0) { return *scheduler->slots()[i]; }

  /// Whether no job holds memory, a place among the active ones or spool space that could not be
  /// reclaimed.
  bool HoldsNoPlace() {
    bool nothing = scheduler->active_jobs() == 0;
    for (const auto& each : scheduler->slots()) nothing = nothing && each->memory.used() == 0;
    return nothing;
  }
  bool HoldsNothing() {
    const spool::SpoolUsage usage = spool->usage();
    return HoldsNoPlace() && usage.used_bytes == usage.reclaimable_bytes;
  }

  PipelineOptions options;
  TemporaryDirectory directory;
  FakeJobStore store;
  FakeResultStore results{directory.path() / "results"};
  FakeObserver observer;
  std::unique_ptr<spool::Spool> spool;
  std::unique_ptr<jobs::JobTable> table;
  std::vector<std::unique_ptr<ops::Device>> devices;
  std::unique_ptr<scheduler::Scheduler> scheduler;
  std::unique_ptr<pipeline::Engine> engine;
};

}  // namespace isocenter::testing
