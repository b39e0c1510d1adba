#include "server/daemon/slots.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/host_memory.h"
#include "kernels/base/status_macros.h"
#include "server/base/log.h"
#include "server/daemon/background.h"

namespace isocenter::daemon {
namespace {

// Assumed until the first job has been measured (docs/performance.md).
constexpr double kGpuUpdatesPerSecond = 100e9;
constexpr double kCpuUpdatesPerSecond = 1e9;

// What was measured before a restart predicts what comes after it.
void RecallSpeed(const jobs::JobTable& table, const ops::Device& device,
                 scheduler::CostModel& cost) {
  const auto recent = table.List({.states = {jobs::JobState::kCompleted}}, std::nullopt, 8);
  for (auto job = recent.rbegin(); job != recent.rend(); ++job) {
    const jobs::JobResult& result = (*job)->result;
    if (result.backend != device.backend() || !(result.whole_gups > 0)) continue;
    const double updates = static_cast<double>((*job)->grid.voxels()) * (*job)->facts.frames;
    cost.Add(updates, updates / (result.whole_gups * 1e9));
  }
}

// Slots of `per_job` devices each, of which the last has fewer where GPUs are missing; a device
// without memory of its own is a slot alone.
std::vector<pipeline::SlotDevices> GroupDevices(const ChosenDevices& chosen, size_t per_job) {
  if (!chosen.devices[0]->traits().own_memory) per_job = 1;
  std::vector<pipeline::SlotDevices> groups;
  for (const auto& device : chosen.devices) {
    if (groups.empty() || groups.back().size() == per_job) groups.emplace_back();
    groups.back().push_back(device.get());
  }
  return groups;
}

void WarnOfMissingGpus(const v1::LimitsConfig& limits, const ChosenDevices& chosen, uint32_t gpus) {
  for (const absl::Status& failure : chosen.failures) {
    spdlog::warn("event=gpu_left_out reason=\"{}\"", failure.ToString());
  }
  if (gpus < limits.gpus()) {
    spdlog::warn("event=gpus_missing configured={} found={} reason=\"{}\"", limits.gpus(), gpus,
                 chosen.reason);
  }
  if (gpus % limits.gpus_per_job() != 0) {
    spdlog::warn("event=slot_incomplete gpus={} of={}", gpus % limits.gpus_per_job(),
                 limits.gpus_per_job());
  }
}

}  // namespace

absl::StatusOr<Slots> OpenSlots(const v1::LimitsConfig& limits, const std::string& wanted_backend) {
  const auto memory_bytes = static_cast<int64_t>(limits.memory_bytes());
  if (memory_bytes > PhysicalMemoryBytes()) {
    spdlog::warn(
        "event=memory_beyond_machine field=limits.memory_bytes bytes={} machine_bytes={} "
        "why=\"jobs "
        "are admitted that the machine has no memory for\"",
        memory_bytes, PhysicalMemoryBytes());
  }
  const WantedDevices wanted{
      .host = {.memory_bytes = memory_bytes, .threads = static_cast<int>(limits.cpu_threads())},
      .own_memory = {.memory_bytes = static_cast<int64_t>(limits.device_memory_bytes())},
      .count = static_cast<int>(limits.gpus())};
  ISO_ASSIGN_OR_RETURN(ChosenDevices chosen,
                       InBackground([&] { return OpenDevices(wanted_backend, wanted); }));
  Slots opened{.backend = std::string(chosen.devices[0]->backend())};
  opened.groups = GroupDevices(chosen, limits.gpus_per_job());
  if (chosen.devices[0]->traits().own_memory && wanted_backend.empty()) {
    ISO_ASSIGN_OR_RETURN(ChosenDevices cpu,
                         InBackground([&] { return OpenDevices("cpu", wanted); }));
    opened.groups.push_back({cpu.devices[0].get()});
    chosen.devices.push_back(std::move(cpu.devices[0]));
  }
  opened.devices = std::move(chosen.devices);
  const auto gpus = static_cast<uint32_t>(
      std::ranges::count_if(opened.devices, [](const auto& d) { return d->traits().own_memory; }));
  WarnOfMissingGpus(limits, chosen, gpus);

  // The host's memory is one budget: that of the slot that computes in it, where there is one.
  std::unique_ptr<scheduler::DeviceSlot> on_host;
  const ops::Device& last = *opened.devices.back();
  if (!last.traits().own_memory) {
    on_host = InBackground([&] {
      return std::make_unique<scheduler::DeviceSlot>(absl::StrCat(std::string(last.backend()), 0),
                                                     memory_bytes, "iso-slot-host", nullptr,
                                                     kCpuUpdatesPerSecond);
    });
  } else {
    opened.host_memory = std::make_unique<scheduler::PromisedMemory>(memory_bytes);
  }
  for (const pipeline::SlotDevices& group : opened.groups) {
    const ops::Device& device = *group[0];
    for (const ops::Device* each : group) {
      spdlog::info("event=device backend={} device=\"{}\" reason=\"{}\"",
                   std::string(each->backend()), each->description(), chosen.reason);
    }
    if (!device.traits().own_memory) continue;
    opened.slots.push_back(std::make_unique<scheduler::DeviceSlot>(
        absl::StrCat(opened.backend, opened.slots.size()), device.limits().memory_bytes,
        absl::StrCat("iso-slot-", opened.slots.size()),
        on_host != nullptr ? &on_host->memory : opened.host_memory.get(),
        kGpuUpdatesPerSecond * static_cast<double>(group.size())));
  }
  if (on_host != nullptr) opened.slots.push_back(std::move(on_host));
  return opened;
}

void RecallSpeeds(const jobs::JobTable& table, Slots& slots) {
  for (size_t i = 0; i < slots.slots.size(); ++i) {
    RecallSpeed(table, *slots.groups[i][0], slots.slots[i]->cost);
  }
}

}  // namespace isocenter::daemon
