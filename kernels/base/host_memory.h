// How much memory there is, and how much this process can still take.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace isocenter {

/// What the machine has.
int64_t PhysicalMemoryBytes();

/// The least of what the machine has free (with what it can free, and swap), what the process's
/// control groups leave it, and what its limit on address space does. It changes at any time.
int64_t AvailableMemoryBytes();

/// RESOURCE_EXHAUSTED when `needed_bytes` are not available; `what` begins the message, which names
/// both: "WHAT needs 15.5 GiB of memory; 3.2 GiB are available". Linux promises memory that it does
/// not have, and ends who uses it: so this is asked first.
absl::Status CheckAvailableMemory(absl::string_view what, int64_t needed_bytes);

}  // namespace isocenter
