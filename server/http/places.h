// How many of something there may be at once.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace isocenter::http {

/// Thread-safe.
class Places {
 public:
  /// `of`: "downloads".
  Places(int most, std::string of) : most_(most), of_(std::move(of)) {}

  /// Taken until the last copy is gone, which may outlive this. Errors: UNAVAILABLE.
  absl::StatusOr<std::shared_ptr<void>> Take() {
    if (taken_->fetch_add(1) >= most_) {
      taken_->fetch_sub(1);
      return absl::UnavailableError(
          absl::StrCat("all ", most_, " places of ", of_, " are taken; try again"));
    }
    return std::shared_ptr<void>(nullptr, [taken = taken_](void*) { taken->fetch_sub(1); });
  }

 private:
  const int most_;
  const std::string of_;
  const std::shared_ptr<std::atomic<int>> taken_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace isocenter::http
