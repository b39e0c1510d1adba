// How long jobs stood still because of a restart.
#pragma once

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace isocenter::testing {

struct Restart {
  absl::Duration to_ready;     // from the start of the process until it serves
  absl::Duration to_going_on;  // until the console had been answered about its job
  int acknowledged = 0;        // frames, before
};

/// Prints median and worst of each group.
class RestartTable {
 public:
  void Add(const std::string& group, const Restart& restart) { rows_[group].push_back(restart); }

  // Of one restart at least.
  absl::Duration worst_to_going_on() const { return Sorted().back(); }
  absl::Duration median_to_going_on() const { return Sorted()[Sorted().size() / 2]; }

  void Print() const {
    std::printf("%-16s %6s  %-21s  %-21s  %s\n", "", "", "restart to ready", "restart to going on",
                "acknowledged");
    std::printf("%-16s %6s  %10s %10s  %10s %10s  %6s %6s\n", "ended while", "rounds", "median ms",
                "worst ms", "median ms", "worst ms", "least", "most");
    for (const auto& [group, restarts] : rows_) {
      const auto sorted = [&restarts = restarts](auto value) {
        std::vector<double> values;
        for (const Restart& restart : restarts) values.push_back(value(restart));
        std::ranges::sort(values);
        return values;
      };
      const auto ready =
          sorted([](const Restart& r) { return absl::ToDoubleMilliseconds(r.to_ready); });
      const auto going_on =
          sorted([](const Restart& r) { return absl::ToDoubleMilliseconds(r.to_going_on); });
      const auto frames = sorted([](const Restart& r) { return double(r.acknowledged); });
      std::printf("%-16s %6zu  %10.1f %10.1f  %10.1f %10.1f  %6.0f %6.0f\n", group.c_str(),
                  restarts.size(), ready[ready.size() / 2], ready.back(),
                  going_on[going_on.size() / 2], going_on.back(), frames.front(), frames.back());
    }
  }

 private:
  std::vector<absl::Duration> Sorted() const {
    std::vector<absl::Duration> all;
    for (const auto& [group, restarts] : rows_) {
      for (const Restart& restart : restarts) all.push_back(restart.to_going_on);
    }
    std::ranges::sort(all);
    return all;
  }

  std::map<std::string, std::vector<Restart>> rows_;
};

}  // namespace isocenter::testing
