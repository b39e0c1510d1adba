#include "server/pipeline/device_loss.h"

#include <vector>

#include "server/base/log.h"
#include "server/pipeline/early/early_refinements.h"

namespace isocenter::pipeline {

absl::Status DeviceLoss::BeforeUnit(const RunPlace& place) {
  const std::optional<DeviceFault>& fault = parts_.options.fault;
  if (!fault || place.slot.name != fault->slot) return absl::OkStatus();
  if (chunks_on_faulty_slot_++ != fault->chunks) return absl::OkStatus();
  spdlog::warn("event=fault_injected slot={}", place.slot.name);
  return place.devices[0]->Break();
}

void DeviceLoss::OnDeviceLost(const RunPlace& place, const absl::Status& why) {
  std::vector<scheduler::DeviceSlot*> slots = parts_.runs.SlotsOf(place.devices);
  if (slots.size() > 1) {
    std::erase_if(slots, [&](scheduler::DeviceSlot* slot) { return !parts_.runs.IsLost(*slot); });
    if (slots.empty()) slots = {&place.slot};
  }
  for (scheduler::DeviceSlot* slot : slots) Quarantine(*slot, why);
  ReplaceRuns();
}

void DeviceLoss::OnSlotLost(scheduler::DeviceSlot& slot, const absl::Status& why) {
  Quarantine(slot, why);
  ReplaceRuns();
}

void DeviceLoss::Quarantine(scheduler::DeviceSlot& slot, const absl::Status& why) {
  if (!slot.healthy()) return;
  slot.Quarantine(std::string(why.message()));
  spdlog::error("event=device_lost slot={} error=\"{}\"", slot.name, why.ToString());
  parts_.observer.OnDeviceLost(slot.name);
}

void DeviceLoss::ReplaceRuns() {
  parts_.early.GiveUpAll();
  parts_.active.ReplaceLostRuns(parts_.runs, parts_.observer);
  if (parts_.scheduler.healthy_slots() > 0) {
    parts_.seek_places();
  } else if (!reported_.exchange(true) && parts_.options.no_device_left) {
    parts_.options.no_device_left();
  }
}

}  // namespace isocenter::pipeline
