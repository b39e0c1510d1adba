// Scatter that was simulated once and is used again.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/physics/scatter/field.h"

namespace isocenter::formats {

/// What scatter is of, as checksums: it fits nothing else.
struct ScatterKey {
  uint32_t object = 0, beam = 0, geometry = 0;
  friend bool operator==(const ScatterKey&, const ScatterKey&) = default;
};

struct StoredScatter {
  ScatterKey key;
  int64_t photons_per_view = 0;
  double relative_error = 0;
  physics::ScatterViews views;
};

/// StoredScatter of proto/isocenter/v1/physics.proto. Errors: INVALID_ARGUMENT (no such message,
/// sizes that are not legal or not those of the numbers, numbers that are not finite or negative),
/// DATA_LOSS (the numbers' checksum).
absl::StatusOr<StoredScatter> ParseScatter(absl::string_view bytes);

/// Up to 40 MiB. Errors: those of ReadRegularFile and ParseScatter, with the file's name.
absl::StatusOr<StoredScatter> ReadScatter(const std::string& path);

/// Errors: as OutputFile.
absl::Status WriteScatter(const std::string& path, const StoredScatter& scatter);

}  // namespace isocenter::formats
