// Bodies of several parts, read from files while they are sent. Source: RFC 2387; DICOM PS3.18,
// 8.6.1.2.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/http/stored_files.h"

namespace isocenter::dicomweb {

/// So many bytes of a file.
struct FilePart {
  std::filesystem::path file;
  int64_t offset = 0, bytes = 0;
  std::string location;  // the part's own address
};

struct Multipart {
  std::string content_type;
  std::vector<http::BodyPart> parts;
};

/// Parts of one type, at least one. `part_type`: with its parameters, of which `type` goes without.
/// Errors: UNAVAILABLE (the system gives no random numbers for the text between them).
absl::StatusOr<Multipart> MultipartOf(absl::string_view type, absl::string_view part_type,
                                      const std::vector<FilePart>& files);

}  // namespace isocenter::dicomweb
