// What a DICOMweb destination answers to a store: a content type up to a NUL, and a body.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "server/stow/store_answer.h"
#include "tests/fuzz/input.h"

using namespace isocenter;  // NOLINT

namespace {

void CheckUid(const std::string& uid) {
  fuzz::Require(!uid.empty() && uid.size() <= 64, "a UID is bounded");
  fuzz::Require(uid.find_first_not_of("0123456789.") == uid.npos, "a UID has digits and dots");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const std::string type(input.TakeText()), body(input.TakeRest());
  const auto answer = stow::ParseStoreAnswer(type, body);
  if (!answer.ok()) {
    fuzz::Require(absl::IsInvalidArgument(answer.status()), "a refusal is of the answer");
    fuzz::Require(answer.status().message().size() < 200, "a refusal is short");
    return 0;
  }
  fuzz::Require(absl::StrContains(absl::AsciiStrToLower(type), "json"), "it is JSON");
  for (const std::string& uid : answer->stored) CheckUid(uid);
  for (const auto& [uid, reason] : answer->refused) CheckUid(uid);
  return 0;
}
