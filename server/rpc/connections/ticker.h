// A thread that does one thing again and again.
#pragma once

#include <pthread.h>

#include <functional>
#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

namespace isocenter::rpc {

class Ticker {
 public:
  /// Calls `tick` every `interval` until this is destroyed. `name`: at most 15 characters, which
  /// the operating system shows.
  Ticker(const char* name, absl::Duration interval, std::function<void()> tick)
      : thread_([this, name, interval, tick = std::move(tick)] {
          pthread_setname_np(pthread_self(), name);
          while (!end_.WaitForNotificationWithTimeout(interval)) tick();
        }) {}
  ~Ticker() {
    end_.Notify();
    thread_.join();
  }
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  absl::Notification end_;
  std::thread thread_;
};

}  // namespace isocenter::rpc
