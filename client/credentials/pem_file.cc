#include "client/credentials/pem_file.h"

#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/regular_file.h"
#include "kernels/base/status_macros.h"

namespace isocenter::client {
namespace {

struct Block {
  absl::string_view label;  // "CERTIFICATE"
  absl::string_view body;   // up to its end line, or of the text where it has none
  bool ends = false;
};

/// RFC 7468.
std::vector<Block> BlocksOf(absl::string_view text) {
  constexpr absl::string_view kBegin = "-----BEGIN ", kDashes = "-----";
  std::vector<Block> blocks;
  for (size_t at = text.find(kBegin); at != absl::string_view::npos; at = text.find(kBegin)) {
    text.remove_prefix(at + kBegin.size());
    Block block{.label = text.substr(0, text.find(kDashes))};
    text.remove_prefix(std::min(block.label.size() + kDashes.size(), text.size()));
    const size_t end = text.find(absl::StrCat("-----END ", block.label, kDashes));
    block.ends = end != absl::string_view::npos;
    block.body = text.substr(0, block.ends ? end : text.size());
    blocks.push_back(block);
  }
  return blocks;
}

absl::Status Refused(absl::string_view name, const std::string& path, absl::string_view which,
                     absl::string_view legal) {
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", path, ", which ", which, "; legal is ", legal));
}

/// A sequence of DER, which certificates and keys are.
bool IsDer(absl::string_view body) {
  std::string bytes;
  return absl::Base64Unescape(body, &bytes) && absl::StartsWith(bytes, "0");
}

/// Of the block that is meant. `legal` is what the file should be.
absl::Status CheckWhole(absl::string_view name, const std::string& path, const Block& block,
                        absl::string_view legal) {
  if (!block.ends) {
    return Refused(name, path, absl::StrCat("ends within its ", block.label), legal);
  }
  if (!IsDer(block.body)) {
    return Refused(name, path, absl::StrCat("has a damaged ", block.label), legal);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadCertificates(absl::string_view name, const std::string& path) {
  constexpr char kLegal[] = "a PEM file with BEGIN CERTIFICATE";
  ISO_ASSIGN_OR_RETURN(std::string text, ReadPemFile(name, path));
  const std::vector<Block> blocks = BlocksOf(text);
  bool found = false;
  for (const Block& block : blocks) {
    if (!absl::EndsWith(block.label, "CERTIFICATE")) continue;
    ISO_RETURN_IF_ERROR(CheckWhole(name, path, block, kLegal));
    found = true;
  }
  if (found) return text;
  return Refused(
      name, path,
      absl::StrCat("holds ", blocks.empty() ? "nothing" : blocks[0].label, " and no certificate"),
      kLegal);
}

absl::StatusOr<std::string> ReadPrivateKey(absl::string_view name, const std::string& path) {
  constexpr char kLegal[] = "a PEM file with BEGIN PRIVATE KEY, without a passphrase";
  ISO_ASSIGN_OR_RETURN(std::string text, ReadPemFile(name, path));
  const std::vector<Block> blocks = BlocksOf(text);
  for (const Block& block : blocks) {
    if (!absl::EndsWith(block.label, "PRIVATE KEY")) continue;
    if (absl::StrContains(block.label, "ENCRYPTED") || absl::StrContains(block.body, "ENCRYPTED")) {
      return Refused(name, path, "has a passphrase", kLegal);
    }
    ISO_RETURN_IF_ERROR(CheckWhole(name, path, block, kLegal));
    return text;
  }
  return Refused(
      name, path,
      absl::StrCat("holds ", blocks.empty() ? "nothing" : blocks[0].label, " and no private key"),
      kLegal);
}

}  // namespace isocenter::client
