#include "server/dicom/net/command_check.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/strings/str_format.h"
#include "proto/dicom/little_endian.h"

namespace isocenter::dicom {
namespace {

constexpr size_t kHeaderBytes = 8;
constexpr uint16_t kCommandField = 0x0100, kDataSetType = 0x0800, kNoDataSet = 0x0101;
constexpr uint32_t kLongestValue = 16 << 10;
// C-STORE, C-ECHO (both ways), C-CANCEL. DCMTK and we do not read what would follow these.
constexpr std::array<uint32_t, 4> kWithoutDataSet = {0x8001, 0x0030, 0x8030, 0x0fff};

}  // namespace

absl::StatusOr<CommandFacts> CheckCommand(std::span<const std::byte> bytes) {
  uint32_t field = 0, type = kNoDataSet;
  int64_t previous = -1;
  while (bytes.size() >= kHeaderBytes) {
    const uint32_t group = LittleEndian(bytes.first(2)),
                   element = LittleEndian(bytes.subspan(2, 2));
    const uint32_t length = LittleEndian(bytes.subspan(4, 4));
    if (group != 0 || int64_t{element} <= previous) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "DICOM command: (%04x,%04x) follows (0000,%04x); legal are elements of group 0000 in "
          "ascending order",
          group, element, std::max<int64_t>(previous, 0)));
    }
    if (length > kLongestValue) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "DICOM command: (0000,%04x) has length %u; legal is up to %u, no sequence", element,
          length, kLongestValue));
    }
    if (bytes.size() - kHeaderBytes < length) break;
    if (length >= 2 && element == kCommandField)
      field = LittleEndian(bytes.subspan(kHeaderBytes, 2));
    if (length >= 2 && element == kDataSetType) type = LittleEndian(bytes.subspan(kHeaderBytes, 2));
    previous = element;
    bytes = bytes.subspan(kHeaderBytes + length);
  }
  return CommandFacts{
      .is_whole = bytes.empty(),
      .announces_data_set =
          type != kNoDataSet && std::ranges::find(kWithoutDataSet, field) == kWithoutDataSet.end()};
}

}  // namespace isocenter::dicom
