// Tells ThreadSanitizer what gRPC orders by atomics in its own, uninstrumented code. Two places are
// enough for what our reactors and gRPC's headers, which are compiled with them, hand from thread
// to thread; see absl_mutex_tsan.cc for how.

#include <sanitizer/tsan_interface.h>

#include "grpcpp/support/server_callback.h"
#include "tools/sanitizer/next_function.h"

namespace grpc_core {

// The queue in which a call's operations wait for the thread that executes them. Declared in no
// public header.
class MultiProducerSingleConsumerQueue {
 public:
  struct Node;
  bool Push(Node* node);
  Node* PopAndCheckEnd(bool* empty);
};

bool MultiProducerSingleConsumerQueue::Push(Node* node) {
  __tsan_release(node);
  return ISO_NEXT_FUNCTION(bool (*)(MultiProducerSingleConsumerQueue*, Node*),
                           "_ZN9grpc_core32MultiProducerSingleConsumerQueue4PushEPNS0_4NodeE")(
      this, node);
}

MultiProducerSingleConsumerQueue::Node* MultiProducerSingleConsumerQueue::PopAndCheckEnd(
    bool* empty) {
  Node* const node = ISO_NEXT_FUNCTION(
      Node * (*)(MultiProducerSingleConsumerQueue*, bool*),
      "_ZN9grpc_core32MultiProducerSingleConsumerQueue14PopAndCheckEndEPb")(this, empty);
  if (node != nullptr) __tsan_acquire(node);
  return node;
}

}  // namespace grpc_core

namespace grpc::internal {

// All callbacks of a call happen before its OnDone. The count of those that are left is in a
// header; what counts down to zero may be the library.
void ServerCallbackCall::ScheduleOnDone(bool inline_ondone) {
  __tsan_acquire(&callbacks_outstanding_);
  ISO_NEXT_FUNCTION(void (*)(ServerCallbackCall*, bool),
                    "_ZN4grpc8internal18ServerCallbackCall14ScheduleOnDoneEb")
  (this, inline_ondone);
}

}  // namespace grpc::internal
