#include "server/pipeline/device_loss.h"

#include <vector>

#include "spdlog/spdlog.h"

namespace isocenter::pipeline {

absl::Status DeviceLoss::BeforeUnit(const RunPlace& place) {
  const std::optional<DeviceFault>& fault = options_.fault;
  if (!fault || place.slot.name != fault->slot) return absl::OkStatus();
  if (chunks_on_faulty_slot_++ != fault->chunks) return absl::OkStatus();
  spdlog::warn("event=fault_injected slot={}", place.slot.name);
  return place.devices[0]->Break();
}

void DeviceLoss::OnDeviceLost(const RunPlace& place, const absl::Status& why) {
  std::vector<scheduler::DeviceSlot*> slots = runs_.SlotsOf(place.devices);
  if (slots.size() > 1) {
    std::erase_if(slots, [&](scheduler::DeviceSlot* slot) { return !runs_.IsLost(*slot); });
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
  observer_.OnDeviceLost(slot.name);
}

void DeviceLoss::ReplaceRuns() {
  active_.ReplaceLostRuns(runs_, observer_);
  if (scheduler_.healthy_slots() > 0) {
    options_.seek_places();
  } else if (!reported_.exchange(true) && options_.no_device_left) {
    options_.no_device_left();
  }
}

}  // namespace isocenter::pipeline
