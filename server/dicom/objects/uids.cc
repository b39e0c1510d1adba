#include "server/dicom/objects/uids.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/crypto/digests.h"

namespace isocenter::dicom {
namespace {

// The namespace of Isocenter's names: a random UUID, drawn once.
constexpr std::array<uint8_t, 16> kNamespace = {0x5e, 0x1b, 0x0c, 0x3d, 0x9a, 0x47, 0x4f, 0x62,
                                                0xb8, 0x2d, 0x71, 0xe4, 0x06, 0xc9, 0xd5, 0x3a};

absl::string_view Name(UidRole role) {
  switch (role) {
    case UidRole::kStudy:
      return "study";
    case UidRole::kSeries:
      return "series";
    case UidRole::kFrameOfReference:
      return "frame-of-reference";
    case UidRole::kInstance:
      return "instance";
    case UidRole::kProcedureStep:
      return "procedure-step";
    case UidRole::kVolume:
      return "volume";
    case UidRole::kConcatenation:
      return "concatenation";
    case UidRole::kDimensionOrganization:
      return "dimension-organization";
  }
  return "";
}

/// RFC 4122, 4.3: the first 16 bytes of SHA-1 over namespace and name, with version and variant.
std::array<uint8_t, 16> NameBasedUuid(absl::string_view name) {
  std::string data(kNamespace.begin(), kNamespace.end());
  data.append(name.data(), name.size());
  const std::array<uint8_t, 20> digest = crypto::Sha1(data);
  std::array<uint8_t, 16> uuid;
  std::copy_n(digest.begin(), uuid.size(), uuid.begin());
  uuid[6] = (uuid[6] & 0x0f) | 0x50;
  uuid[8] = (uuid[8] & 0x3f) | 0x80;
  return uuid;
}

/// The decimal digits of a big-endian number that is not zero.
std::string Decimal(std::array<uint8_t, 16> number) {
  std::string digits;
  while (std::any_of(number.begin(), number.end(), [](uint8_t byte) { return byte != 0; })) {
    int remainder = 0;
    for (uint8_t& byte : number) {
      const int value = remainder * 256 + byte;
      byte = static_cast<uint8_t>(value / 10);
      remainder = value % 10;
    }
    digits.push_back(static_cast<char>('0' + remainder));
  }
  std::reverse(digits.begin(), digits.end());
  return digits;
}

}  // namespace

std::string MakeUid(UidRole role, absl::string_view name, int index) {
  return absl::StrCat("2.25.",
                      Decimal(NameBasedUuid(absl::StrCat(Name(role), "/", name, "/", index))));
}

std::string RandomUid() {
  std::random_device entropy;
  std::array<uint8_t, 16> uuid;
  for (uint8_t& byte : uuid) byte = static_cast<uint8_t>(entropy());
  uuid[6] = (uuid[6] & 0x0f) | 0x40;
  uuid[8] = (uuid[8] & 0x3f) | 0x80;
  return absl::StrCat("2.25.", Decimal(uuid));
}

bool IsUid(absl::string_view uid) {
  if (uid.empty() || uid.size() > 64) return false;
  const std::vector<absl::string_view> parts = absl::StrSplit(uid, '.');
  return std::all_of(parts.begin(), parts.end(), [](absl::string_view part) {
    return !part.empty() && (part.size() == 1 || part[0] != '0') &&
           std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
  });
}

}  // namespace isocenter::dicom
