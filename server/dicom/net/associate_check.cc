#include "server/dicom/net/associate_check.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"

namespace isocenter::dicom {
namespace {

using Bytes = std::span<const std::byte>;

constexpr size_t kFixedBytes = 68;  // before the items
constexpr size_t kItemHeaderBytes = 4, kContextHeaderBytes = 4;
constexpr size_t kLongestName = 64;  // a UID
constexpr int kMostContexts = 128;   // odd numbers of a byte

enum ItemType : uint8_t {
  kApplicationContext = 0x10,
  kRequestedContext = 0x20,
  kAcceptedContext = 0x21,
  kAbstractSyntax = 0x30,
  kTransferSyntax = 0x40,
  kUserInformation = 0x50,
  kMaximumLength = 0x51,
  kImplementationClass = 0x52,
  kRole = 0x54,
  kImplementationVersion = 0x55,
  kExtendedNegotiation = 0x56,
  kRequestedIdentity = 0x58,
  kAcceptedIdentity = 0x59,
};

uint8_t Byte(Bytes bytes, size_t at) { return std::to_integer<uint8_t>(bytes[at]); }
size_t Length(Bytes bytes, size_t at) { return size_t{Byte(bytes, at)} << 8 | Byte(bytes, at + 1); }

absl::Status Refuse(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("DICOM association: ", what));
}

/// Calls `visit` with the type and content of each item.
template <class Visit>
absl::Status ForEachItem(Bytes items, const Visit& visit) {
  while (!items.empty()) {
    if (items.size() < kItemHeaderBytes) return Refuse("it ends inside of an item");
    const uint8_t type = Byte(items, 0);
    const size_t length = Length(items, 2), room = items.size() - kItemHeaderBytes;
    if (length > room) {
      return Refuse(
          absl::StrFormat("item %02xH has %u bytes; legal is up to %u, the end of what "
                          "it is in",
                          type, length, room));
    }
    ISO_RETURN_IF_ERROR(visit(type, items.subspan(kItemHeaderBytes, length)));
    items = items.subspan(kItemHeaderBytes + length);
  }
  return absl::OkStatus();
}

absl::Status CheckBytes(uint8_t type, size_t bytes, size_t least, size_t most) {
  if (bytes >= least && bytes <= most) return absl::OkStatus();
  return Refuse(
      absl::StrFormat("item %02xH has %u bytes; legal is %u to %u", type, bytes, least, most));
}

absl::Status CheckCount(uint8_t type, int count, int least, int most) {
  if (count >= least && count <= most) return absl::OkStatus();
  return Refuse(
      absl::StrFormat("item %02xH comes %d times; legal is %d to %d", type, count, least, most));
}

absl::Status CheckContext(uint8_t type, Bytes context) {
  ISO_RETURN_IF_ERROR(CheckBytes(type, context.size(), kContextHeaderBytes, 0xffff));
  const bool is_refused = type == kAcceptedContext && Byte(context, 2) != 0;
  if (is_refused) return absl::OkStatus();  // what else it holds has no meaning
  int abstract = 0, transfer = 0;
  ISO_RETURN_IF_ERROR(
      ForEachItem(context.subspan(kContextHeaderBytes), [&](uint8_t item, Bytes content) {
        abstract += item == kAbstractSyntax;
        transfer += item == kTransferSyntax;
        const bool is_name = item == kAbstractSyntax || item == kTransferSyntax;
        return is_name ? CheckBytes(item, content.size(), 0, kLongestName) : absl::OkStatus();
      }));
  if (type == kRequestedContext) {
    ISO_RETURN_IF_ERROR(CheckCount(kAbstractSyntax, abstract, 1, 1));
    return CheckCount(kTransferSyntax, transfer, 1, kMostContexts);
  }
  return CheckCount(kTransferSyntax, transfer, 1, 1);
}

/// A content that begins with the length of a name, which is followed by `rest` bytes or more.
absl::Status CheckNamed(uint8_t type, Bytes content, size_t longest, size_t rest) {
  ISO_RETURN_IF_ERROR(CheckBytes(type, content.size(), 2 + rest, 0xffff));
  const size_t most = std::min(longest, content.size() - 2 - rest);
  return CheckBytes(type, Length(content, 0), 0, most);
}

/// Source: PS3.7, D.3.3.7.
absl::Status CheckIdentity(uint8_t type, Bytes content) {
  if (type == kAcceptedIdentity) return CheckNamed(type, content, 0xffff, 0);
  ISO_RETURN_IF_ERROR(CheckBytes(type, content.size(), 6, 0xffff));
  const Bytes fields = content.subspan(2);
  ISO_RETURN_IF_ERROR(CheckNamed(type, fields, 0xffff, 2));
  const Bytes secondary = fields.subspan(2 + Length(fields, 0));
  return CheckBytes(type, Length(secondary, 0), secondary.size() - 2, secondary.size() - 2);
}

absl::Status CheckUserItem(uint8_t type, Bytes content) {
  switch (type) {
    case kMaximumLength:
      return CheckBytes(type, content.size(), 4, 4);
    case kImplementationClass:
    case kImplementationVersion:
      return CheckBytes(type, content.size(), 0, kLongestName);
    case kRole:
      return CheckNamed(type, content, kLongestName, 2);
    case kExtendedNegotiation:
      return CheckNamed(type, content, kLongestName, 0);
    case kRequestedIdentity:
    case kAcceptedIdentity:
      return CheckIdentity(type, content);
    default:
      return absl::OkStatus();
  }
}

}  // namespace

absl::Status CheckAssociate(Bytes body, bool is_request) {
  if (body.size() < kFixedBytes) {
    return Refuse(
        absl::StrCat("it has ", body.size(), " bytes; legal is ", kFixedBytes, " and more"));
  }
  if ((Byte(body, 1) & 1) == 0) {
    return Refuse(absl::StrFormat("protocol version %04xH; legal is 0001H", Length(body, 0)));
  }
  const uint8_t context_type = is_request ? kRequestedContext : kAcceptedContext;
  const uint8_t identity_type = is_request ? kRequestedIdentity : kAcceptedIdentity;
  int names = 0, contexts = 0, users = 0, identities = 0;
  ISO_RETURN_IF_ERROR(ForEachItem(body.subspan(kFixedBytes), [&](uint8_t type, Bytes content) {
    switch (type) {
      case kApplicationContext:
        ++names;
        return CheckBytes(type, content.size(), 0, kLongestName);
      case kRequestedContext:
      case kAcceptedContext:
        ++contexts;
        if (type != context_type) return CheckCount(type, 1, 0, 0);
        return CheckContext(type, content);
      case kUserInformation:
        ++users;
        return ForEachItem(content, [&](uint8_t item, Bytes inner) {
          const bool is_identity = item == kRequestedIdentity || item == kAcceptedIdentity;
          if (is_identity) identities += item == identity_type ? 1 : 2;
          return CheckUserItem(item, inner);
        });
      default:
        return absl::OkStatus();
    }
  }));
  ISO_RETURN_IF_ERROR(CheckCount(kApplicationContext, names, 0, 1));
  ISO_RETURN_IF_ERROR(CheckCount(context_type, contexts, 0, kMostContexts));
  ISO_RETURN_IF_ERROR(CheckCount(kUserInformation, users, 0, 1));
  return CheckCount(identity_type, identities, 0, 1);
}

}  // namespace isocenter::dicom
