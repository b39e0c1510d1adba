#include "proto/wire/verification.h"

#include <google/protobuf/descriptor.h>

#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/crc32c.h"
#include "proto/wire/calibration_file.h"
#include "proto/wire/field_checks.h"
#include "proto/wire/illegal.h"

namespace isocenter::wire {
namespace {

using Part = v1::Verification::Part;

/// Parts of second passes, and those that correct nothing.
bool OfNoFirstVolume(const std::string& part) {
  return part == "bone" || part == "scatter_model" || part == "geometry";
}

/// Of parts that a first volume is corrected with.
std::vector<Part> PartsOf(const v1::CalibrationSet& set) {
  std::vector<Part> parts;
  for (const std::string& name : CalibrationParts(set)) {
    if (OfNoFirstVolume(name)) continue;
    const auto* const field = v1::CalibrationSet::descriptor()->FindFieldByName(name);
    const std::string bytes = set.GetReflection()->GetMessage(set, field).SerializeAsString();
    Part& part = parts.emplace_back();
    part.set_name(name);
    part.set_crc32c(Crc32c(std::as_bytes(std::span(bytes))));
  }
  return parts;
}

const Part* Find(const auto& parts, const std::string& name) {
  for (const Part& part : parts) {
    if (part.name() == name) return &part;
  }
  return nullptr;
}

}  // namespace

void SetVerifiedParts(v1::CalibrationSet& set) {
  const std::vector<Part> parts = PartsOf(set);
  set.mutable_verification()->mutable_part()->Assign(parts.begin(), parts.end());
}

bool IsVerified(const v1::CalibrationSet& set) {
  return set.has_verification() && CheckVerifiedParts(set).ok();
}

absl::Status CheckVerifiedParts(const v1::CalibrationSet& set) {
  if (!set.has_verification()) return absl::OkStatus();
  constexpr char kLegal[] =
      "the parts that the set has, as they are, or no verification; `isocenter calibrate verify "
      "--into` verifies it anew";
  const auto& then = set.verification().part();
  const std::vector<Part> now = PartsOf(set);
  for (const Part& part : now) {
    const Part* const before = Find(then, part.name());
    if (before == nullptr) {
      return Illegal("verification.part", absl::StrCat("without ", part.name()), kLegal);
    }
    if (before->crc32c() != part.crc32c()) {
      return Illegal("verification.part", absl::StrCat("of another ", part.name()), kLegal);
    }
  }
  for (const Part& part : then) {
    if (Find(now, part.name()) != nullptr) continue;
    return Illegal("verification.part",
                   absl::StrCat("of ", Shown(part.name()), ", which the set has not"), kLegal);
  }
  return absl::OkStatus();
}

}  // namespace isocenter::wire
