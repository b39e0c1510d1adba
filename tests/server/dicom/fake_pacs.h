// A destination in this process that takes instances, commits to them, and fails as it is told.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/dicom/net/association.h"

struct T_DIMSE_C_StoreRQ;
struct T_DIMSE_N_ActionRQ;

namespace isocenter::dicom {

/// What becomes of a C-STORE.
enum class StoreFate {
  kAnswer,        // the instance is kept, or refused by its status
  kKeepAndBreak,  // it is kept, but the association ends without an answer
  kBreak,         // the association ends before it is kept
};

enum class ReportBy { kNobody, kSameAssociation, kNewAssociation };

struct PacsBehaviour {
  /// The status of the `nth` (from 0) C-STORE of all, and what becomes of it. Null: success.
  std::function<uint16_t(const std::string& uid, int nth)> status;
  std::function<StoreFate(const std::string& uid, int nth)> fate;
  bool takes_images = true;
  std::set<std::string> refused_classes = {};  // no context for these
  bool offers_commitment = true;
  ReportBy report = ReportBy::kSameAssociation;
  int report_port = 0;  // of a node, for kNewAssociation
  /// Instances that it forgets before the first request of commitment.
  std::set<std::string> loses = {};
};

/// Listens on the loopback interface, with a thread per association.
class FakePacs {
 public:
  /// `port`: 0 picks a free one.
  explicit FakePacs(PacsBehaviour behaviour = {}, int port = 0);
  ~FakePacs();
  int port() const { return port_; }

  /// Successful receptions of each instance.
  std::map<std::string, int> receptions() const;
  /// What it has now.
  std::set<std::string> instances() const;
  /// In the order of first reception.
  std::vector<std::string> order() const;
  int associations() const;
  int most_associations_at_once() const;
  int commitment_requests() const;
  /// Statuses with which its reports were answered.
  std::vector<uint16_t> report_answers() const;

 private:
  struct Connection {
    Interruptor interruptor;
    std::thread thread;
  };
  void Accept();
  void Serve(int socket, Interruptor& interruptor);
  bool ServeStore(Association& association, uint8_t context, const T_DIMSE_C_StoreRQ& request);
  bool ServeAction(Association& association, uint8_t context, const T_DIMSE_N_ActionRQ& request,
                   Interruptor& interruptor);
  bool SendReport(Association& association, uint8_t context, const std::string& transaction_uid,
                  const std::vector<std::pair<std::string, std::string>>& items);

  const PacsBehaviour behaviour_;
  int listener_ = -1, port_ = 0;
  mutable absl::Mutex mutex_;
  std::map<std::string, int> receptions_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> instances_ ABSL_GUARDED_BY(mutex_), lost_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> order_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint16_t> report_answers_ ABSL_GUARDED_BY(mutex_);
  int stores_ ABSL_GUARDED_BY(mutex_) = 0,
              associations_ ABSL_GUARDED_BY(mutex_) = 0, open_ ABSL_GUARDED_BY(mutex_) = 0,
              most_open_ ABSL_GUARDED_BY(mutex_) = 0, requests_ ABSL_GUARDED_BY(mutex_) = 0;
  std::list<Connection> connections_;  // of the acceptor
  std::thread acceptor_;
};

}  // namespace isocenter::dicom
