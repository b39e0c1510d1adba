// The devices of this machine as slots.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "isocenter/v1/server_config.pb.h"
#include "kernels/backends.h"
#include "server/jobs/job_table.h"
#include "server/pipeline/reconstruction_run.h"
#include "server/scheduler/device_slot.h"

namespace isocenter::daemon {

struct Slots {
  std::string backend;  // of the fastest
  std::vector<std::unique_ptr<ops::Device>> devices;
  std::vector<pipeline::SlotDevices> groups;               // of devices; one for each slot
  std::unique_ptr<scheduler::PromisedMemory> host_memory;  // unless a slot has it
  std::vector<std::unique_ptr<scheduler::DeviceSlot>> slots;
};

/// GPUs in groups of limits.gpus_per_job, of which the last may have fewer, and the CPU: alone
/// where there is no GPU, else as the slot that is left when GPUs fail (unless `wanted_backend`
/// names another). GPUs that are missing are told of in the log. Errors: those of OpenDevices.
absl::StatusOr<Slots> OpenSlots(const v1::LimitsConfig& limits, const std::string& wanted_backend);

/// What was measured before a restart predicts what comes after it.
void RecallSpeeds(const jobs::JobTable& table, Slots& slots);

}  // namespace isocenter::daemon
