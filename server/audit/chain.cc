#include "server/audit/chain.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "nlohmann/json.hpp"
#include "server/audit/bounds.h"
#include "server/crypto/digests.h"

namespace isocenter::audit {
namespace {

constexpr absl::string_view kHash = R"(,"hash":")";
constexpr uint64_t kMostNumber = std::numeric_limits<int64_t>::max() - 1;  // another may follow
constexpr size_t kHashEndBytes = kHash.size() + 64 + 2;                    // up to the object's end

}  // namespace

std::string Chain(absl::string_view record, Link& last) {
  std::string line = absl::StrCat(R"({"seq":)", last.number + 1, R"(,"prev":")", last.hash, "\"");
  record.remove_prefix(1);
  record.remove_suffix(1);
  if (!record.empty()) absl::StrAppend(&line, ",", record);
  last = {last.number + 1, crypto::Sha256Hex(line)};
  absl::StrAppend(&line, kHash, last.hash, R"("})");
  return line;
}

absl::StatusOr<ChainedLine> ReadChained(absl::string_view line) {
  if (line.size() >= kMostLineBytes) return absl::DataLossError("it is longer than any record");
  if (line.size() <= kHashEndBytes) return absl::DataLossError("it is no record");
  const absl::string_view hashed = line.substr(0, line.size() - kHashEndBytes);
  absl::string_view hash = line.substr(hashed.size());
  if (!absl::ConsumePrefix(&hash, kHash) || !absl::ConsumeSuffix(&hash, "\"}")) {
    return absl::DataLossError("it is no record");
  }
  if (crypto::Sha256Hex(hashed) != hash) {
    return absl::DataLossError("its digest is another: it was changed");
  }
  const auto json = nlohmann::json::parse(line.begin(), line.end(), nullptr,
                                          /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("seq") || !json["seq"].is_number_unsigned() ||
      !json.contains("prev") || !json["prev"].is_string()) {
    return absl::DataLossError("it is no record");
  }
  const auto number = json["seq"].get<uint64_t>();
  if (number < 1 || number > kMostNumber) {
    return absl::DataLossError(
        absl::StrCat("its number is ", number, "; legal is 1 to ", kMostNumber));
  }
  ChainedLine read{.link = {static_cast<int64_t>(number), std::string(hash)},
                   .previous_hash = json["prev"].get<std::string>()};
  if (json.contains("torn_bytes") && json["torn_bytes"].is_number_integer()) {
    read.torn_bytes = json["torn_bytes"].get<int64_t>();
  }
  if (json.contains("lost") && json["lost"].is_number_integer()) {
    read.lost = json["lost"].get<int64_t>();
  }
  return read;
}

}  // namespace isocenter::audit
