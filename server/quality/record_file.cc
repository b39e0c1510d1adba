#include "server/quality/record_file.h"

#include <algorithm>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/base/crc32c.h"
#include "kernels/base/regular_file.h"
#include "kernels/base/status_macros.h"
#include "server/storage/whole_file.h"

namespace isocenter::quality_records {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kMagic = "ISOQUAL1";
constexpr uint64_t kMostBytes = 64 << 10;
constexpr size_t kHeader = 12;

std::string Number(uint32_t value) {
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(value >> shift));
  return bytes;
}

std::span<const std::byte> Bytes(absl::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

absl::Status WriteRecord(const fs::path& path, const v1::QualityResult& result) {
  const std::string message = result.SerializeAsString();
  return storage::WriteWhole(path, absl::StrCat(kMagic, Number(Crc32c(Bytes(message))), message));
}

absl::StatusOr<v1::QualityResult> ReadRecord(const fs::path& path) {
  ISO_ASSIGN_OR_RETURN(const std::string bytes,
                       ReadRegularFile("the result", path.string(), kMostBytes));
  const absl::string_view message =
      absl::string_view(bytes).substr(std::min(kHeader, bytes.size()));
  v1::QualityResult result;
  const bool whole = bytes.size() > kHeader &&
                     absl::string_view(bytes).substr(0, kMagic.size()) == kMagic &&
                     bytes.substr(kMagic.size(), 4) == Number(Crc32c(Bytes(message))) &&
                     result.ParseFromArray(message.data(), static_cast<int>(message.size()));
  if (whole) return result;
  return absl::DataLossError(
      absl::StrCat(path.string(), " of ", bytes.size(), " bytes is damaged"));
}

}  // namespace isocenter::quality_records
