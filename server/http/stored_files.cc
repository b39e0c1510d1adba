#include "server/http/stored_files.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"

namespace isocenter::http {
namespace {

// Of POSIX ustar: a header of one block before each file, whose end is filled to a block, and two
// blocks of zeros at the end of all.
constexpr size_t kTarBlock = 512;
constexpr size_t kLongestTarName = 100;
constexpr int64_t kLargestTarFile = (int64_t{1} << 33) - 1;  // eleven octal digits

std::string TarHeader(const std::string& name, int64_t bytes, absl::Time modified) {
  std::string header(kTarBlock, '\0');
  const auto set = [&](size_t offset, absl::string_view text) {
    std::memcpy(header.data() + offset, text.data(), text.size());
  };
  set(0, name);
  set(100, "0000644");
  set(108, "0000000");  // owner and group: nobody's
  set(116, "0000000");
  set(124, absl::StrFormat("%011o", bytes));
  set(136, absl::StrFormat("%011o", std::max<int64_t>(0, absl::ToUnixSeconds(modified))));
  set(148, "        ");  // the checksum counts itself as blanks
  set(156, "0");         // a regular file
  set(257, "ustar");
  set(263, "00");
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  set(148, absl::StrFormat("%06o", sum));
  header[154] = '\0';
  return header;
}

}  // namespace

StoredFiles::StoredFiles(std::vector<BodyPart> parts, std::shared_ptr<void> held)
    : parts_(std::move(parts)), held_(std::move(held)) {
  for (const BodyPart& part : parts_) {
    bytes_ += static_cast<int64_t>(part.before.size() + part.after.size()) + part.file_bytes;
  }
}

absl::StatusOr<std::string> StoredFiles::Next() {
  std::string piece;
  while (part_ < parts_.size() && static_cast<int64_t>(piece.size()) < kPieceBytes) {
    ISO_RETURN_IF_ERROR(Fill(piece));
  }
  return piece;
}

absl::Status StoredFiles::Fill(std::string& piece) {
  const BodyPart& part = parts_[part_];
  if (!file_) {
    ISO_ASSIGN_OR_RETURN(viewer::InputFile file, viewer::InputFile::Open(part.file));
    file_.emplace(std::move(file));
    piece += part.before;
  }
  const int64_t room = std::max<int64_t>(0, kPieceBytes - static_cast<int64_t>(piece.size()));
  const auto count = static_cast<size_t>(std::min(room, part.file_bytes - read_));
  const size_t at = piece.size();
  piece.resize(at + count);
  ISO_RETURN_IF_ERROR(file_->ReadAt(part.file_offset + read_,
                                    std::as_writable_bytes(std::span(piece).subspan(at, count))));
  read_ += static_cast<int64_t>(count);
  if (read_ < part.file_bytes) return absl::OkStatus();
  piece += part.after;
  file_.reset();
  read_ = 0;
  ++part_;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<BodyPart>> TarOf(const std::vector<std::filesystem::path>& files,
                                            const std::string& folder, absl::Time modified) {
  std::vector<BodyPart> parts;
  for (const std::filesystem::path& file : files) {
    std::error_code error;
    const auto bytes = static_cast<int64_t>(std::filesystem::file_size(file, error));
    if (error) {
      return absl::InternalError(
          absl::StrCat(file.filename().string(), " cannot be read: ", error.message()));
    }
    const std::string name = absl::StrCat(folder, "/", file.filename().string());
    if (name.size() > kLongestTarName || bytes > kLargestTarFile) {
      return absl::InternalError(absl::StrCat(name, " of ", bytes,
                                              " bytes cannot be packed; legal are names of ",
                                              kLongestTarName, " and ", kLargestTarFile, " bytes"));
    }
    const size_t over = static_cast<size_t>(bytes) % kTarBlock;
    parts.push_back({.before = TarHeader(name, bytes, modified),
                     .file = file,
                     .file_bytes = bytes,
                     .after = std::string(over == 0 ? 0 : kTarBlock - over, '\0')});
  }
  if (!parts.empty()) parts.back().after.append(2 * kTarBlock, '\0');
  return parts;
}

}  // namespace isocenter::http
