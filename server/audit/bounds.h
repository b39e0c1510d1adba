// How long records may be, whatever strangers send.
#pragma once

#include <cstddef>
#include <vector>

#include "server/audit/event.h"

namespace isocenter::audit {

// Bytes of one text; longer ones are cut and say so (text.h).
inline constexpr size_t kMostNameBytes = 128;  // of an actor, a destination
inline constexpr size_t kMostAddressBytes = 64;
inline constexpr size_t kMostSubjectBytes = 256;
inline constexpr size_t kMostIdBytes = 256;   // of a patient, a study, a job
inline constexpr size_t kMostKeyBytes = 256;  // of a query, with its value
inline constexpr size_t kMostDetailBytes = 512;
/// Patients, studies and jobs that one record names.
inline constexpr size_t kMostIds = 8;
/// Keys of a query; of more, the last says how many.
inline constexpr size_t kMostKeys = 16;

/// A line of the file is no longer, with its end.
inline constexpr size_t kMostLineBytes = 32 << 10;
/// An audit message in XML is no longer.
inline constexpr size_t kMostMessageBytes = 96 << 10;

/// The event with texts that are legal and bounded. One with more patients, studies or jobs than a
/// record may name becomes several parts: what was done to somebody's data is never cut.
std::vector<Event> Bounded(Event event);

}  // namespace isocenter::audit
