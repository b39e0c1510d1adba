// Whether the frames of an acquisition tell phases of a moving organ: all of them do, or none.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"

namespace isocenter::pipeline {

/// What the first frame does, all others do: one without a phase would be in no gate, and nobody
/// would see it missing. Not thread-safe.
class ToldPhases {
 public:
  /// `phases`: what frames tell that are there already, by their index; `present`: which are.
  ToldPhases(std::span<const std::optional<float>> phases, const std::vector<bool>& present);

  /// Errors: INVALID_ARGUMENT, naming the frame, what it tells and what is legal.
  absl::Status Check(int frame, std::optional<float> phase) const;
  /// A frame that Check let through is taken.
  void Take(int frame, std::optional<float> phase);
  /// Whether the frames that were taken tell phases.
  bool told() const { return first_ && first_->phase; }

 private:
  struct First {
    int frame = 0;
    std::optional<float> phase;
  };
  std::optional<First> first_;
};

}  // namespace isocenter::pipeline
