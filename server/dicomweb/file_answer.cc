#include "server/dicomweb/file_answer.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/http/stored_files.h"

namespace isocenter::dicomweb {

absl::StatusOr<http::Response> FileAnswers::Make(const Form& form,
                                                 const std::vector<FilePart>& files) {
  Multipart body;
  const Form part{.type = form.type, .transfer_syntax = form.transfer_syntax};
  if (form.multipart) {
    ISO_ASSIGN_OR_RETURN(body, MultipartOf(form.type, part.Text(), files));
  } else {
    const FilePart& file = files.front();
    body = {part.Text(),
            {{.file = file.file, .file_bytes = file.bytes, .file_offset = file.offset}}};
  }
  int64_t bytes = 0;
  for (const FilePart& file : files) bytes += file.bytes;
  std::shared_ptr<void> place;
  if (bytes > kLongBytes) {
    ISO_ASSIGN_OR_RETURN(place, places_.Take());
  }
  http::Response response;
  response.Set("Content-Type", body.content_type);
  response.long_body = std::make_shared<http::StoredFiles>(std::move(body.parts), std::move(place));
  return response;
}

}  // namespace isocenter::dicomweb
