// An information system in this process: provider of modality worklist and performed procedure
// steps, on a port of the loopback interface.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/dicom/net/association.h"
#include "server/dicom/net/node_options.h"

class DcmDataset;

namespace isocenter::dicom {

/// Serves one association after the other. Thread-safe.
class FakeRis {
 public:
  /// A message about a procedure step, with attributes as "(gggg,eeee)..." text.
  struct StepMessage {
    bool creates = false;
    std::string uid, status, text;
  };

  FakeRis();
  ~FakeRis();
  /// Listens, on the same port each time.
  void Start();
  void Stop();
  Peer peer() const { return {.ae_title = "RIS", .host = "127.0.0.1", .port = port_}; }

  /// What C-FIND answers; `keys` is the question.
  std::function<std::vector<std::unique_ptr<DcmDataset>>(DcmDataset& keys)> find;
  /// Status of each N-CREATE and N-SET; a negative one: the connection breaks after the message
  /// was taken. Empty: 0.
  std::function<int(const StepMessage&)> answer;
  /// Before every answer.
  std::atomic<absl::Duration> delay{absl::ZeroDuration()};

  std::vector<StepMessage> messages() const;

 private:
  void Accept();
  void Serve(int socket);
  bool ServeMessage(Association& association);

  int port_ = 0;
  int listener_ = -1;
  std::unique_ptr<Interruptor> interruptor_;
  std::thread thread_;
  std::atomic<bool> stopping_{false};
  mutable absl::Mutex mutex_;
  std::vector<StepMessage> messages_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::dicom
