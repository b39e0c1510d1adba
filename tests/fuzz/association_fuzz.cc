// Everything that a peer sends on one connection to the node, from the association's request to the
// end.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "server/base/log.h"
#include "server/dicom/net/library.h"
#include "server/dicom/scp/session.h"
#include "tests/fuzz/archive.h"

using namespace isocenter;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool configured =
      (dicom::ConfigureLibrary(), spdlog::set_level(spdlog::level::off), true);
  (void)configured;
  static const dicom::NodeOptions options{.negotiation_seconds = 2, .idle_seconds = 1};
  static const dicom::NodeObserver observer;
  static dicom::CallerCounts counts(options.max_associations_per_caller);
  static const dicom::PeerAddresses peers(options.peers);
  static archive::OwnCatalog catalog(fuzz::TestArchive());
  static const dicom::NodeContext node{options, fuzz::TestArchive(), catalog, observer, counts,
                                       peers};

  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return 0;
  // More than the socket holds would block; longer inputs add nothing.
  (void)!send(ends[0], data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  shutdown(ends[0], SHUT_WR);
  // Nobody reads the answers: a socket holds more than an input can ask for, and what would not fit
  // fails soon. A thread that reads would be switched to and from several times per input.
  const timeval patience = {.tv_sec = 0, .tv_usec = 100'000};
  setsockopt(ends[1], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  dicom::Interruptor interruptor;
  dicom::Serve({.socket = ends[1], .secure = false, .address = "127.0.0.1", .refusal = {}}, node,
               interruptor);
  close(ends[0]);
  return 0;
}
