// By STOW-RS, several instances in one request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "server/dicom/sending/courier.h"
#include "server/stow/store_request.h"

namespace isocenter::dicom {

class StowCourier : public Courier {
 public:
  /// Of one request, unless one instance is longer: what is sent again where its answer is lost.
  static constexpr uint64_t kMostBytes = 32 << 20;

  /// `destination` must outlive the courier. `stopped`: whether requests are to end.
  StowCourier(const stow::Destination& destination, std::function<bool()> stopped)
      : destination_(destination), stopped_(std::move(stopped)) {}
  std::string service() const override { return "dicomweb"; }
  int claimed_at_once() const override { return kMostInstances; }
  absl::Status Open(const std::vector<std::string>&) override { return absl::OkStatus(); }
  /// A request that is refused as a whole, without a word of each instance, is sent again with half
  /// of them, until the one is found that it is refused for.
  std::vector<StoreAnswer> Carry(std::span<const archive::Outgoing> batch) override;
  void Close(bool) override {}

 private:
  static constexpr int kMostInstances = 64;

  const stow::Destination& destination_;
  const std::function<bool()> stopped_;
  size_t most_instances_ = kMostInstances;  // fewer after a refusal
  uint64_t most_bytes_ = kMostBytes;        // what the destination does not find too large
};

}  // namespace isocenter::dicom
