// Everything that a peer sends on one connection to the node, from the association's request to the
// end.
#include <dcmtk/config/osconfig.h>
#include <dcmtk/oflog/oflog.h>
#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <thread>

#include "server/dicom/session.h"
#include "tests/fuzz/archive.h"

using namespace isocenter;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool quiet =
      (OFLog::configure(OFLogger::OFF_LOG_LEVEL), spdlog::set_level(spdlog::level::off), true);
  (void)quiet;
  static const dicom::NodeOptions options{.negotiation_seconds = 2, .idle_seconds = 1};
  static const dicom::NodeObserver observer;
  static dicom::CallerCounts counts(options.max_associations_per_caller);
  static const dicom::NodeContext node{options, fuzz::TestArchive(), observer, counts};

  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return 0;
  // More than the socket holds would block; longer inputs add nothing.
  (void)!send(ends[0], data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  shutdown(ends[0], SHUT_WR);
  // Answers are read, so that the node never waits for its peer.
  std::thread reader([socket = ends[0]] {
    char buffer[4096];
    while (read(socket, buffer, sizeof buffer) > 0) {
    }
  });
  dicom::Interruptor interruptor;
  dicom::Serve({.socket = ends[1], .secure = false, .overloaded = false, .address = "127.0.0.1"},
               node, interruptor);
  reader.join();
  close(ends[0]);
  return 0;
}
