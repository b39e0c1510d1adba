// How instances get to a destination.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/archive/transfer_queue.h"
#include "server/dicom/sending/store_scu.h"

namespace isocenter::dicom {

/// Of one thread.
class Courier {
 public:
  virtual ~Courier() = default;
  /// Of the audit trail: "dicom" or "dicomweb".
  virtual std::string service() const = 0;
  /// How many instances are claimed at once: little enough that several threads share a series.
  virtual int claimed_at_once() const = 0;
  /// Before the first instance of these classes. UNAVAILABLE: the destination cannot be reached.
  virtual absl::Status Open(const std::vector<std::string>& sop_classes) = 0;
  /// Sends the first instances of `batch`, which is not empty, after Open(). Returns what became of
  /// each, in order: of one at least.
  virtual std::vector<StoreAnswer> Carry(std::span<const archive::Outgoing> batch) = 0;
  /// After the last instance. `in_order`: nothing broke, and nothing is to be tried later.
  virtual void Close(bool in_order) = 0;
};

}  // namespace isocenter::dicom
