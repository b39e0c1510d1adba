#include "client/formats/dicom/file_bounds.h"

#include <dcmtk/config/osconfig.h>
//
#include <dcmtk/dcmdata/dcxfer.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/formats/file.h"
#include "kernels/base/status_macros.h"
#include "proto/dicom/data_set_scanner.h"
#include "proto/dicom/little_endian.h"

namespace isocenter::formats {
namespace {

// Preamble, "DICM", and (0002,0000), which says how long the rest of its group is. Source: PS3.10,
// 7.1.
constexpr size_t kPreambleBytes = 128, kPrefixBytes = 4;
constexpr char kPrefix[] = "DICM";
constexpr size_t kGroupLengthAt = kPreambleBytes + kPrefixBytes, kGroupLengthBytes = 12;
constexpr size_t kMetaAt = kGroupLengthAt + kGroupLengthBytes;
constexpr uint32_t kMostMetaBytes = 64 << 10;
constexpr uint32_t kTransferSyntax = 0x0010;
constexpr size_t kPieceBytes = 16 << 10;
constexpr int kDepth = 16;
constexpr int64_t kElements = 1 << 20;

/// Fills `bytes` from `offset`.
using ReadAt = absl::FunctionRef<absl::Status(uint64_t offset, std::span<std::byte> bytes)>;

uint32_t Number(absl::string_view bytes) {
  return dicom::LittleEndian(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

absl::Status Refuse(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("DICOM file: ", what));
}

absl::StatusOr<std::string> Read(const ReadAt& read_at, uint64_t offset, size_t size) {
  std::string bytes(size, '\0');
  ISO_RETURN_IF_ERROR(read_at(offset, std::as_writable_bytes(std::span(bytes))));
  return bytes;
}

/// The Transfer Syntax UID of the rest of group 0002.
absl::StatusOr<std::string> TransferSyntax(absl::string_view meta) {
  std::string uid;
  int64_t previous = 0;
  while (!meta.empty()) {
    const size_t header = meta.size() < 8 ? 0 : dicom::ExplicitHeaderBytes(meta.substr(4, 2));
    if (header == 0 || meta.size() < header) return Refuse("an element of group 0002 is none");
    const uint32_t group = Number(meta.substr(0, 2)), element = Number(meta.substr(2, 2));
    const uint32_t length = Number(header == 8 ? meta.substr(6, 2) : meta.substr(8, 4));
    if (group != 2 || element <= previous || length > meta.size() - header) {
      return Refuse(absl::StrFormat(
          "(%04x,%04x) of %u bytes follows (0002,%04x); legal are elements of group 0002 in "
          "ascending order, of up to %u bytes",
          group, element, length, previous, meta.size() - header));
    }
    if (element == kTransferSyntax) uid = std::string(meta.substr(header, length));
    previous = element;
    meta.remove_prefix(header + length);
  }
  while (!uid.empty() && (uid.back() == '\0' || uid.back() == ' ')) uid.pop_back();
  return uid;
}

absl::StatusOr<dicom::DataSetEncoding> EncodingOf(const std::string& transfer_syntax) {
  const DcmXfer syntax(transfer_syntax.c_str());
  const bool is_known = syntax.getXfer() != EXS_Unknown && transfer_syntax == syntax.getXferID();
  if (!is_known || syntax.getStreamCompression() != ESC_none ||
      (syntax.isImplicitVR() && syntax.isBigEndian())) {
    return Refuse(absl::StrCat("transfer syntax is '", transfer_syntax,
                               "'; legal are those of PS3.5 that are not deflated"));
  }
  return dicom::DataSetEncoding{.implicit_vr = static_cast<bool>(syntax.isImplicitVR()),
                                .big_endian = static_cast<bool>(syntax.isBigEndian())};
}

/// What a copy that was broken off says.
absl::Status Truncated(const std::string& what) {
  return absl::DataLossError(absl::StrCat("the DICOM file is truncated: ", what));
}

absl::Status CheckDataSet(uint64_t offset, uint64_t size, const dicom::DataSetEncoding& encoding,
                          const ReadAt& read_at) {
  // What reaches beyond the file is found here, where it can be told apart from a wrong length.
  dicom::DataSetScanner scanner(encoding, {.depth = kDepth, .elements = kElements});
  std::vector<std::byte> piece(kPieceBytes);
  while (offset < size) {
    if (const int64_t skipped = scanner.skippable(); skipped > 0) {
      if (uint64_t(skipped) > size - offset) {
        return Truncated(absl::StrCat("a value needs ", skipped, " bytes more from byte ", offset,
                                      " on, and there are ", size - offset));
      }
      scanner.Skip(skipped);
      offset += skipped;
      continue;
    }
    const auto next = std::span(piece).first(std::min<uint64_t>(piece.size(), size - offset));
    ISO_RETURN_IF_ERROR(read_at(offset, next));
    ISO_RETURN_IF_ERROR(scanner.Take(next));
    offset += next.size();
  }
  if (scanner.End().ok()) return absl::OkStatus();
  return Truncated(absl::StrCat("it ends inside of an element, after ", size, " bytes"));
}

absl::Status Check(uint64_t size, const ReadAt& read_at) {
  if (size == 0) return Truncated("it is empty, 0 bytes");
  if (size < kMetaAt) {
    return Refuse(absl::StrCat("it has ", size, " bytes; legal is ", kMetaAt, " and more"));
  }
  ISO_ASSIGN_OR_RETURN(const std::string begin,
                       Read(read_at, kPreambleBytes, kMetaAt - kPreambleBytes));
  const absl::string_view group_length = absl::string_view(begin).substr(kPrefixBytes);
  if (begin.substr(0, kPrefixBytes) != kPrefix ||
      group_length.substr(0, 8) != absl::string_view("\x02\0\0\0UL\x04\0", 8)) {
    return Refuse("it does not begin with a preamble, \"DICM\" and the length of group 0002");
  }
  const uint32_t meta_bytes = Number(group_length.substr(8));
  if (meta_bytes > kMostMetaBytes) {
    return Refuse(
        absl::StrCat("group 0002 has ", meta_bytes, " bytes; legal is up to ", kMostMetaBytes));
  }
  if (meta_bytes > size - kMetaAt) {
    return Truncated(
        absl::StrCat("group 0002 has ", meta_bytes, " bytes, of which there are ", size - kMetaAt));
  }
  ISO_ASSIGN_OR_RETURN(const std::string meta, Read(read_at, kMetaAt, meta_bytes));
  ISO_ASSIGN_OR_RETURN(const std::string transfer_syntax, TransferSyntax(meta));
  ISO_ASSIGN_OR_RETURN(const dicom::DataSetEncoding encoding, EncodingOf(transfer_syntax));
  return CheckDataSet(kMetaAt + meta_bytes, size, encoding, read_at);
}

}  // namespace

bool IsDicomFile(const std::filesystem::path& path) {
  absl::StatusOr<InputFile> file = InputFile::Open(path);
  char prefix[kPrefixBytes] = {};
  return file.ok() && file->size() > kPreambleBytes + sizeof prefix &&
         file->ReadAt(kPreambleBytes, std::as_writable_bytes(std::span(prefix))).ok() &&
         std::memcmp(prefix, kPrefix, sizeof prefix) == 0;
}

absl::Status CheckDicomFile(const std::filesystem::path& path) {
  ISO_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  return Check(file.size(), [&](uint64_t offset, std::span<std::byte> bytes) {
    return file.ReadAt(offset, bytes);
  });
}

absl::Status CheckDicomFile(std::span<const std::byte> bytes) {
  return Check(bytes.size(), [&](uint64_t offset, std::span<std::byte> part) {
    std::ranges::copy(bytes.subspan(offset, part.size()), part.begin());
    return absl::OkStatus();
  });
}

}  // namespace isocenter::formats
