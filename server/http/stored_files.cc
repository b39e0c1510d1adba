#include "server/http/stored_files.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "kernels/base/crc32c.h"
#include "kernels/base/status_macros.h"
#include "server/http/transport/answers.h"

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

/// A part of a body: `count` bytes, at least one, from `first` on.
struct ByteRange {
  int64_t first = 0, count = 0;
};

/// What a Range header (RFC 9110, 14.2) asks for of `bytes` bytes. Empty: all of them, as the
/// header is not there, is no single range of bytes, or is one which If-Range makes depend on
/// another `etag`. OUT_OF_RANGE: it has none of them.
absl::StatusOr<std::optional<ByteRange>> RangeOf(const Request& request, int64_t bytes,
                                                 absl::string_view etag) {
  absl::string_view text = request.Header("range");
  const absl::string_view condition = request.Header("if-range");
  if (request.method != "GET" || (!condition.empty() && condition != etag)) return std::nullopt;
  if (!absl::ConsumePrefix(&text, "bytes=")) return std::nullopt;
  const std::vector<absl::string_view> ends = absl::StrSplit(text, '-');
  if (ends.size() != 2) return std::nullopt;  // of several ranges, too
  int64_t first = 0, last = bytes - 1;
  const bool has_first = absl::SimpleAtoi(ends[0], &first) && first >= 0;
  const bool has_last = absl::SimpleAtoi(ends[1], &last) && last >= 0;
  if ((!has_first && !ends[0].empty()) || (!has_last && !ends[1].empty())) return std::nullopt;
  if (!has_first) {
    if (!has_last) return std::nullopt;
    first = std::max<int64_t>(0, bytes - last);  // the last so many
    last = last == 0 ? -1 : bytes - 1;
  } else if (has_last && last < first) {
    return std::nullopt;
  }
  last = std::min(has_last ? last : bytes - 1, bytes - 1);
  if (first > last) {
    return absl::OutOfRangeError(
        absl::StrCat("Range is '", request.Header("range"), "'; legal are bytes 0 to ", bytes - 1));
  }
  return ByteRange{first, last - first + 1};
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

std::vector<BodyPart> Cut(const std::vector<BodyPart>& parts, int64_t first, int64_t count) {
  std::vector<BodyPart> cut;
  for (const BodyPart& part : parts) {
    // What of the range lies `offset` bytes behind the part's first one: its begin there, and how
    // many bytes.
    const auto within = [&](int64_t offset, int64_t bytes) {
      const int64_t begin = std::clamp<int64_t>(first - offset, 0, bytes);
      const int64_t end = std::clamp<int64_t>(first + count - offset, begin, bytes);
      return std::pair(begin, end - begin);
    };
    const auto before_bytes = static_cast<int64_t>(part.before.size());
    const auto after_bytes = static_cast<int64_t>(part.after.size());
    const auto before = within(0, before_bytes);
    const auto file = within(before_bytes, part.file_bytes);
    const auto after = within(before_bytes + part.file_bytes, after_bytes);
    if (before.second + file.second + after.second > 0) {
      cut.push_back({.before = part.before.substr(before.first, before.second),
                     .file = part.file,
                     .file_bytes = file.second,
                     .after = part.after.substr(after.first, after.second),
                     .file_offset = part.file_offset + file.first});
    }
    first -= before_bytes + part.file_bytes + after_bytes;
  }
  return cut;
}

Response AnswerWithFiles(const Request& request, std::vector<BodyPart> parts,
                         std::shared_ptr<void> held) {
  int64_t bytes = 0;
  std::string known_by;
  for (const BodyPart& part : parts) {
    bytes += static_cast<int64_t>(part.before.size() + part.after.size()) + part.file_bytes;
    absl::StrAppend(&known_by, part.file.string(), " ", part.file_bytes, " ", part.before,
                    part.after);
  }
  const std::string etag =
      absl::StrFormat("\"%x-%08x\"", bytes, Crc32c(std::as_bytes(std::span(known_by))));
  const absl::StatusOr<std::optional<ByteRange>> range = RangeOf(request, bytes, etag);
  if (!range.ok()) {
    return ErrorAnswer(416, range.status()).Set("Content-Range", absl::StrCat("bytes */", bytes));
  }
  Response response;
  response.Set("Accept-Ranges", "bytes").Set("ETag", etag);
  if (*range) {
    const auto [first, count] = **range;
    response.status = 206;
    response.Set("Content-Range",
                 absl::StrCat("bytes ", first, "-", first + count - 1, "/", bytes));
    parts = Cut(parts, first, count);
  }
  response.long_body = std::make_shared<StoredFiles>(std::move(parts), std::move(held));
  return response;
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
