#include "client/cli/output/progress_bar.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

namespace isocenter::cli {
namespace {

constexpr int kBarWidth = 30;

}  // namespace

ProgressBar::ProgressBar(std::string label, std::string unit, int64_t total)
    : label_(std::move(label)),
      unit_(std::move(unit)),
      total_(std::max<int64_t>(1, total)),
      terminal_(isatty(STDERR_FILENO) != 0),
      start_(absl::Now()),
      last_(start_) {}

ProgressBar::~ProgressBar() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void ProgressBar::Update(int64_t done) {
  const absl::Time now = absl::Now();
  const absl::Duration pause = terminal_ ? absl::Milliseconds(100) : absl::Seconds(10);
  if (now - last_ < pause && !(terminal_ && done == total_)) return;
  last_ = now;
  const double fraction = std::clamp(static_cast<double>(done) / total_, 0.0, 1.0);
  const double elapsed = absl::ToDoubleSeconds(now - start_);
  const double left = fraction > 0 ? elapsed * (1 - fraction) / fraction : 0;
  const std::string figures = absl::StrFormat("%d/%d %s, %.1f/s, %.0f s left", done, total_, unit_,
                                              done / std::max(elapsed, 1e-3), left);
  if (!terminal_) {
    std::fprintf(stderr, "%s: %s\n", label_.c_str(), figures.c_str());
    return;
  }
  const int filled = static_cast<int>(fraction * kBarWidth);
  const std::string bar = std::string(filled, '#') + std::string(kBarWidth - filled, '.');
  std::fprintf(stderr, "\r\033[K%s [%s] %s", label_.c_str(), bar.c_str(), figures.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace isocenter::cli
