#include "proto/wire/mistakes.h"

#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace isocenter::wire {
namespace {

// Bytes: what a call's end may carry has an end itself.
constexpr size_t kMostText = 1600;
constexpr absl::string_view kMore = "; and more, which is told when this is mended";

std::string Joined(absl::string_view all, absl::string_view next) {
  // What two checks find, and what nobody would read.
  if (absl::StrContains(all, next) || absl::EndsWith(all, kMore)) return std::string(all);
  if (all.size() + next.size() > kMostText) return absl::StrCat(all, kMore);
  return absl::StrCat(all, "; ", next);
}

}  // namespace

void Mistakes::Add(const absl::Status& checked) {
  if (checked.ok()) return;
  absl::Status all = checked;
  if (!all_.ok()) {
    all = absl::Status(
        all_.code() == checked.code() ? all_.code() : absl::StatusCode::kInvalidArgument,
        Joined(all_.message(), checked.message()));
    for (const absl::Status& part : {all_, checked}) {
      part.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) {
        all.SetPayload(type, payload);
      });
    }
  }
  all_ = std::move(all);
}

}  // namespace isocenter::wire
