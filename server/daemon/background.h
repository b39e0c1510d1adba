// Threads that give way to those of the network and the disk.
#pragma once

#include <sys/resource.h>

#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

namespace isocenter::daemon {

/// Calls `make` so that the threads that it starts have a lower priority than this one: they
/// inherit it. What computes on the CPU would otherwise keep frames from being acknowledged in
/// time, for as long as all cores are busy.
template <typename Make>
std::invoke_result_t<Make> InBackground(Make make) {
  constexpr int kNiceness = 10;  // a tenth of the processor time where both want it
  std::optional<std::invoke_result_t<Make>> made;
  std::thread([&] {
    (void)setpriority(PRIO_PROCESS, 0, kNiceness);  // Linux: of this thread alone
    made.emplace(make());
  }).join();
  return *std::move(made);
}

}  // namespace isocenter::daemon
