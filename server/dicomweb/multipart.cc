#include "server/dicomweb/multipart.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/crypto/digests.h"

namespace isocenter::dicomweb {

absl::StatusOr<Multipart> MultipartOf(absl::string_view type, absl::string_view part_type,
                                      const std::vector<FilePart>& files) {
  // By chance alone it could be in a file, and nobody can make a file that has it.
  const std::string boundary = crypto::RandomToken();
  if (boundary.empty()) return absl::UnavailableError("the system gives no random numbers");
  Multipart multipart{
      .content_type = absl::StrCat("multipart/related; type=\"", type, "\"; boundary=", boundary)};
  for (const FilePart& file : files) {
    multipart.parts.push_back(
        {.before = absl::StrCat(multipart.parts.empty() ? "" : "\r\n", "--", boundary,
                                "\r\nContent-Type: ", part_type, "\r\nContent-Length: ", file.bytes,
                                "\r\nContent-Location: ", file.location, "\r\n\r\n"),
         .file = file.file,
         .file_bytes = file.bytes,
         .file_offset = file.offset});
  }
  multipart.parts.back().after = absl::StrCat("\r\n--", boundary, "--\r\n");
  return multipart;
}

}  // namespace isocenter::dicomweb
