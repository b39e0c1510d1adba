// Answers that are made of bytes of stored files.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/dicomweb/media_types.h"
#include "server/dicomweb/multipart.h"
#include "server/http/places.h"
#include "server/http/transport/http.h"

namespace isocenter::dicomweb {

/// Makes them, of which only some may be long at once: each reads a disk that live acquisitions
/// write to. Thread-safe.
class FileAnswers {
 public:
  /// Longer ones take a place for as long as their client takes them.
  static constexpr int64_t kLongBytes = int64_t{16} << 20;
  static constexpr int kMostLong = 8;

  /// The files in the form: one whose type has no parts is of one file. Errors: UNAVAILABLE (all
  /// places are taken; those of MultipartOf).
  absl::StatusOr<http::Response> Make(const Form& form, const std::vector<FilePart>& files);

 private:
  http::Places places_{kMostLong, "long retrievals"};
};

}  // namespace isocenter::dicomweb
