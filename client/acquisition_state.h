// What an acquisition stream's thread and its callers share, and the calls that the thread makes.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/acquisition_stream.h"
#include "client/failover.h"
#include "client/frame_store.h"
#include "client/frame_window.h"
#include "client/reconnect.h"
#include "isocenter/v1/acquisition.pb.h"

namespace isocenter::client {

/// What gRPC has done for a call.
enum CallEvent { kStarted, kRead, kWritten, kFinished };

/// What takes a job up again; the header proves that the frames to come are the job's.
v1::AcquireRequest ResumeRequest(const std::string& job_id, const v1::AcquisitionHeader& header);

/// One thread runs the calls, one after the other, and reads. Whoever finds no write under way
/// starts the next one: the thread, or the caller of SendFrame.
struct AcquisitionStream::State {
  // Messages go out as bytes, because Protobuf would copy the pixels into one of its own.
  using RawStub = grpc::TemplatedGenericStub<grpc::ByteBuffer, v1::AcquireResponse>;
  using RawStream = grpc::ClientAsyncReaderWriter<grpc::ByteBuffer, v1::AcquireResponse>;

  /// One call of Acquire; an acquisition whose connection breaks has several.
  struct Call {
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    std::unique_ptr<RawStream> stream;
    std::string node;                         // that it is meant for
    absl::Time heard = absl::InfinitePast();  // when anything came from there last
    bool late = false;                        // ended because its answer was
    bool silent = false;                      // ended because nothing came any more
    absl::Time accepted = absl::InfiniteFuture();
    bool moved_on = false;
    bool again = false;  // takes up what a broken call began
    bool moves = false;  // at another node, with all frames
    v1::AcquireResponse response;
    bool answered = false;
    grpc::Status status;
    bool finished = false;  // `status` is there
    bool stuck = false;     // with a write that the transport has begun and cannot get rid of
  };

  State(const ServiceChannel& service, AcquisitionStreamOptions stream_options,
        const v1::AcquisitionHeader& begun_with, int64_t bytes, std::vector<std::string> nodes,
        std::string on_node)
      : options(std::move(stream_options)),
        header(begun_with),
        frame_count(header.frame_count()),
        frame_bytes(bytes),
        failover(service.Anew(), std::move(nodes), options.failover_after),
        store(options.max_kept_bytes, options.kept_frames_folder),
        node(std::move(on_node)),
        window(header.frame_count(), std::max(1, options.max_frames_in_flight),
               options.max_bytes_in_flight),
        // The caller's own is not to be blocked by frames for a node that hangs.
        channel(failover.possible() ? service.Anew() : service) {
    if (failover.possible()) window.KeepAcknowledged(&store);
  }

  const AcquisitionStreamOptions options;
  const v1::AcquisitionHeader header;  // which every resumption repeats
  const uint32_t frame_count;
  const int64_t frame_bytes;
  std::thread thread;
  Failover failover;  // the thread's own

  mutable absl::Mutex mutex;
  FrameStore store ABSL_GUARDED_BY(mutex);
  std::string node ABSL_GUARDED_BY(mutex);  // that has the job; empty: there is no choice
  FrameWindow window ABSL_GUARDED_BY(mutex);
  Call* call ABSL_GUARDED_BY(mutex) = nullptr;           // the one under way
  RawStream* writable ABSL_GUARDED_BY(mutex) = nullptr;  // its stream, while it takes frames
  bool writing ABSL_GUARDED_BY(mutex) = false;           // a write of the call is under way
  bool finish_requested ABSL_GUARDED_BY(mutex) = false;  // by the console
  bool finish_written ABSL_GUARDED_BY(mutex) = false;    // in this call
  bool cancelled ABSL_GUARDED_BY(mutex) = false;
  int64_t reconnects ABSL_GUARDED_BY(mutex) = 0;
  std::optional<v1::Accepted> accepted ABSL_GUARDED_BY(mutex);  // the first
  std::string job_id ABSL_GUARDED_BY(mutex);                    // at `node`
  std::optional<v1::JobResult> result ABSL_GUARDED_BY(mutex);
  std::optional<absl::Status> ended ABSL_GUARDED_BY(mutex);

  /// Until the acquisition has ended. `limit`: of the first call, as RunCall's.
  void Run(v1::AcquireRequest opening, absl::Duration limit);
  /// One call, from its first message to its status.
  /// `limit`: how long the answer to the first message may take.
  absl::Status RunCall(const v1::AcquireRequest& opening, absl::Duration limit, Call& c);
  /// The call's events, until it is over or `stuck`.
  void HandleEvents(const v1::AcquireRequest& opening, absl::Time admission_deadline, Call& c);
  /// Until when events are waited for before WaitedInVain, or before another try to connect.
  absl::Time NextLook(const Call& c, absl::Time admission_deadline) const;
  /// Nothing has come: ends a call whose answer is late, or whose node is silent and gone.
  void WaitedInVain(Call& c);
  absl::Status EndOf(const Call& c, absl::Duration limit) const;
  /// `ok`: it went well.
  void OnEvent(CallEvent event, bool ok, const v1::AcquireRequest& opening, Call& c);
  void Handle(const v1::AcquireResponse& response, Call& c);
  /// Returns the frames that are acknowledged by it.
  std::vector<uint32_t> Accept(const v1::Accepted& answer, Call& c)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  absl::Status AcceptedAgain(const v1::Accepted& answer) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void StartNextWrite() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  /// How the acquisition ends after a call that ended with `status`; nothing when it is tried
  /// again.
  std::optional<absl::Status> Verdict(absl::Status status, const Call& c, Reconnect& reconnect)
      ABSL_LOCKS_EXCLUDED(mutex);
  /// What takes the acquisition up again, where it was or at another node. `c`: the call to be
  /// made.
  v1::AcquireRequest GoOn(const Reconnect& reconnect, Call& c) ABSL_LOCKS_EXCLUDED(mutex);
  absl::Status Send(uint32_t index, const grpc::Slice& pixels,
                    const std::optional<ProjectionMatrix>& measured, float dose,
                    std::optional<float> phase);
  /// Calls one of `options`, if there is one; what it throws ends the acquisition.
  template <class Argument>
  void Tell(absl::string_view name, const std::function<void(Argument)>& callback,
            std::type_identity_t<Argument> argument);
  /// FAILED_PRECONDITION in the thread that calls the functions of `options`.
  absl::Status CheckCaller(absl::string_view function) const;

  std::atomic<std::thread::id> own_thread;  // which runs the calls

  // The thread's own:
  ServiceChannel channel;                      // for the next call
  std::optional<absl::Status> broken_promise;  // of the server
  absl::Status callback_failure;               // what a function of `options` threw
  absl::Status last_break;                     // what the end of the last call means
};

}  // namespace isocenter::client
