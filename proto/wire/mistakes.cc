#include "proto/wire/mistakes.h"

#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace isocenter::wire {

void Mistakes::Add(const absl::Status& checked) {
  if (checked.ok()) return;
  absl::Status all = checked;
  if (!all_.ok()) {
    all = absl::Status(all_.code(), absl::StrCat(all_.message(), "; ", checked.message()));
    for (const absl::Status& part : {all_, checked}) {
      part.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) {
        all.SetPayload(type, payload);
      });
    }
  }
  all_ = std::move(all);
}

}  // namespace isocenter::wire
