#include "client/cli/output/warning_printer.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <span>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/output/warnings.h"

namespace isocenter::cli {
namespace {

void ToTerminal(const std::string& text) {
  // A progress line that stands on the terminal is drawn again below.
  const char* clear = isatty(STDERR_FILENO) != 0 ? "\r\033[K" : "";
  std::fprintf(stderr, "%sisocenter: warning: %s\n", clear, text.c_str());
}

/// "frames 12, 40, 77, .."
std::string FramesText(std::span<const uint32_t> frames) {
  constexpr size_t kShown = 5;
  const size_t shown = std::min(frames.size(), kShown);
  return absl::StrCat(frames.size() == 1 ? "frame " : "frames ",
                      absl::StrJoin(frames.first(shown), ", "),
                      shown < frames.size() ? ", .." : "");
}

}  // namespace

WarningPrinter::~WarningPrinter() { Finish(); }

void WarningPrinter::Take(const std::string& text, const v1::JobWarning* warning) {
  const bool at_frame = warning != nullptr && warning->has_frame_index();
  const auto [alike, is_first] = alike_.try_emplace(ShapeOf(text));
  if (is_first) {
    const bool says_it =
        !at_frame || absl::StrContains(text, absl::StrCat("frame ", warning->frame_index()));
    alike->second.first =
        says_it ? text : absl::StrCat(text, " (frame ", warning->frame_index(), ")");
    ToTerminal(alike->second.first);
    return;
  }
  ++alike->second.held_back;
  if (at_frame) alike->second.frames.push_back(warning->frame_index());
}

void WarningPrinter::Print(const std::string& text) {
  absl::MutexLock lock(&mutex_);
  if (texts_.insert(text).second) Take(text, nullptr);
}

void WarningPrinter::Print(const v1::JobWarning& warning) {
  if (!warning.has_frame_index()) return Print(warning.text());
  absl::MutexLock lock(&mutex_);
  texts_.insert(warning.text());
  if (at_frames_.emplace(warning.text(), warning.frame_index()).second) {
    Take(warning.text(), &warning);
  }
}

void WarningPrinter::Finish() {
  absl::MutexLock lock(&mutex_);
  for (auto& [shape, alike] : alike_) {
    if (alike.held_back == 0) continue;
    ToTerminal(
        absl::StrCat(alike.held_back, " more",
                     alike.frames.empty() ? "" : absl::StrCat(", at ", FramesText(alike.frames)),
                     ", like: ", alike.first));
    alike.held_back = 0;
    alike.frames.clear();
  }
}

}  // namespace isocenter::cli
