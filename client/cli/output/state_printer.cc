#include "client/cli/output/state_printer.h"

#include <unistd.h>

#include "absl/time/clock.h"
#include "client/cli/output/job_text.h"

namespace isocenter::cli {
namespace {

constexpr absl::Duration kLinePause = absl::Seconds(10);

}  // namespace

StatePrinter::StatePrinter(std::FILE* file) : file_(file), terminal_(isatty(fileno(file)) != 0) {}

StatePrinter::~StatePrinter() {
  absl::MutexLock lock(&mutex_);
  if (drawn_) std::fputs("\n", file_);
}

void StatePrinter::Show(const v1::JobProgress& progress) {
  absl::MutexLock lock(&mutex_);
  if (terminal_ && yields_) return;
  const absl::Time now = absl::Now();
  if (!terminal_ && progress.state() == state_ && now - last_line_ < kLinePause) return;
  state_ = progress.state();
  last_line_ = now;
  drawn_ = terminal_;
  std::fprintf(file_, terminal_ ? "\r\033[K%s" : "%s\n", ProgressLine(progress).c_str());
  std::fflush(file_);
}

void StatePrinter::YieldTerminal(bool yields) {
  absl::MutexLock lock(&mutex_);
  yields_ = yields;
}

void StatePrinter::Clear() {
  absl::MutexLock lock(&mutex_);
  if (drawn_) std::fputs("\r\033[K", file_);
  drawn_ = false;
}

}  // namespace isocenter::cli
