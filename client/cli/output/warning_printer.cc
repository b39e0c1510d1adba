#include "client/cli/output/warning_printer.h"

#include <unistd.h>

#include <cstdio>

namespace isocenter::cli {

void WarningPrinter::Print(const std::string& text) {
  absl::MutexLock lock(&mutex_);
  if (!printed_.insert(text).second) return;
  // A progress line that stands on the terminal is drawn again below.
  const char* clear = isatty(STDERR_FILENO) != 0 ? "\r\033[K" : "";
  std::fprintf(stderr, "%sisocenter: warning: %s\n", clear, text.c_str());
}

}  // namespace isocenter::cli
