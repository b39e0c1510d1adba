// What a server says of objects that it was sent. Source: DICOM PS3.18, 10.5.3 and annexes F.2,
// I.2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace isocenter::stow {

/// Of what an answer says, of a few hundred bytes for each object that it names.
inline constexpr size_t kMostAnswerBytes = 1 << 20;

/// By SOP Instance UID.
struct StoreAnswer {
  std::set<std::string> stored;                        // Referenced SOP Sequence
  absl::flat_hash_map<std::string, uint16_t> refused;  // Failed SOP Sequence: Failure Reason
};

/// Reads strictly the DICOM JSON Model of a store response: an object, or a list of one, at most 8
/// deep, in which no name stands twice, with sequences whose items have what they must. What else
/// there is, is passed over. INVALID_ARGUMENT: it is another thing.
absl::StatusOr<StoreAnswer> ParseStoreAnswer(absl::string_view content_type,
                                             absl::string_view body);

}  // namespace isocenter::stow
