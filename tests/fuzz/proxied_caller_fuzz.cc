// Metadata of a call by which a proxy says who calls. An input is names and values, each up to a
// NUL; of a name '1' stands for that of the subject, '2' for that of the address.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "server/rpc/callers/proxied_caller.h"
#include "tests/fuzz/input.h"

using namespace isocenter;  // NOLINT

namespace {

std::string NameOf(absl::string_view text) {
  if (text == "1") return rpc::kCallerSubjectMetadata;
  if (text == "2") return rpc::kCallerAddressMetadata;
  return std::string(text);
}

/// Without what a backslash has in front of it no separator is left.
bool IsOneValue(absl::string_view name) {
  for (size_t i = 0; i < name.size(); i += name[i] == '\\' ? 2 : 1) {
    if (name[i] == ',' || name[i] == '+') return false;
  }
  return true;
}

void Check(const audit::Actor& caller) {
  using fuzz::Require;
  Require(caller.certificate_subject.size() <= 1024 && caller.address.size() <= 64,
          "what a proxy says is bounded");
  for (const std::string* text : {&caller.certificate_subject, &caller.address}) {
    Require(!text->empty() && std::ranges::all_of(*text, absl::ascii_isprint), "it is a text");
  }
  Require(absl::StrContains(caller.certificate_subject, caller.name) && IsOneValue(caller.name),
          "the name is one value of the subject");
  Require(!caller.is_known, "what is said proves nothing");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  (void)rpc::CommonNameOf({reinterpret_cast<const char*>(data), size});
  std::vector<std::pair<std::string, std::string>> said;
  while (!input.empty()) {
    std::string name = NameOf(input.TakeText());
    said.emplace_back(std::move(name), std::string(input.TakeText()));
  }
  rpc::CallMetadata metadata;
  for (const auto& [name, value] : said) metadata.emplace(name, value);
  const auto caller = rpc::ProxiedCaller(metadata);
  if (caller.ok()) Check(*caller);
  return 0;
}
