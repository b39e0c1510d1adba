#include "server/storage/whole_file.h"

#include <span>
#include <system_error>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/storage/files.h"

namespace isocenter::storage {

absl::Status WriteWhole(const std::filesystem::path& file, absl::string_view bytes) {
  const std::filesystem::path staged = absl::StrCat(file.string(), ".part");
  std::error_code error;
  std::filesystem::remove(staged, error);
  {
    ISO_ASSIGN_OR_RETURN(OutputFile output, OutputFile::Create(staged, bytes.size()));
    ISO_RETURN_IF_ERROR(output.WriteAt(0, std::as_bytes(std::span(bytes.data(), bytes.size()))));
    ISO_RETURN_IF_ERROR(output.Sync());
  }
  std::filesystem::rename(staged, file, error);
  if (error) return FileError(error.value(), "name", file);
  return SyncDirectory(file.parent_path());
}

}  // namespace isocenter::storage
