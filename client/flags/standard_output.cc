#include "client/flags/standard_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace isocenter::flags {
namespace {

bool has_document = false;  // of the one standard output that a process has

}  // namespace

void HoldStandardDescriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest that is free is the one that is asked for, as those below are taken.
    if (fcntl(descriptor, F_GETFD) < 0) (void)open("/dev/null", O_RDONLY);
  }
}

absl::Status FlushStandardOutput(bool failed) {
  const int before = failed ? errno : 0;
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && !failed) return absl::OkStatus();
  if (errno == 0) errno = before;
  const int flags = fcntl(STDOUT_FILENO, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) {
    return absl::ResourceExhaustedError("standard output is closed");
  }
  return absl::ResourceExhaustedError(absl::StrCat("cannot write to standard output",
                                                   errno == 0 ? "" : ": ",
                                                   errno == 0 ? "" : std::strerror(errno)));
}

absl::Status PrintDocument(const std::string& document) {
  has_document = true;
  std::fputs(document.c_str(), stdout);
  return FlushStandardOutput();
}

bool HasPrintedDocument() { return has_document; }

}  // namespace isocenter::flags
