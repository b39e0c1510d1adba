// Which CUDA devices this machine has.
#pragma once

#include <string>
#include <vector>

namespace isocenter::cuda {

struct DeviceQuery {
  /// Names of the usable devices, e.g. "NVIDIA H100 80GB HBM3", in CUDA's order.
  std::vector<std::string> names;
  /// Why there is none, in CUDA's words; empty when `names` is not.
  std::string reason;
};

/// Never fails: a machine without a driver simply has no devices. Thread-safe.
DeviceQuery QueryDevices();

}  // namespace isocenter::cuda
