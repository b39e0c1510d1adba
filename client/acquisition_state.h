// What an acquisition stream's thread and its callers share, and the calls that the thread makes.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/acquisition_stream.h"
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
    absl::Time accepted = absl::InfiniteFuture();
    bool moved_on = false;
    bool again = false;  // takes up what a broken call began
    v1::AcquireResponse response;
    bool answered = false;
    grpc::Status status;
    bool finished = false;  // `status` is there
  };

  State(const ServiceChannel& channel, AcquisitionStreamOptions stream_options,
        const v1::AcquisitionHeader& begun_with, int64_t bytes, std::string on_node)
      : options(std::move(stream_options)),
        header(begun_with),
        node(std::move(on_node)),
        stub(channel.grpc_channel()),
        frame_count(header.frame_count()),
        frame_bytes(bytes),
        window(header.frame_count(), std::max(1, options.max_frames_in_flight),
               options.max_bytes_in_flight) {}

  const AcquisitionStreamOptions options;
  const v1::AcquisitionHeader header;  // which every resumption repeats
  const std::string node;              // that all calls are meant for; empty: there is no choice
  RawStub stub;
  const uint32_t frame_count;
  const int64_t frame_bytes;
  std::thread thread;

  mutable absl::Mutex mutex;
  FrameWindow window ABSL_GUARDED_BY(mutex);
  Call* call ABSL_GUARDED_BY(mutex) = nullptr;           // the one under way
  RawStream* writable ABSL_GUARDED_BY(mutex) = nullptr;  // its stream, while it takes frames
  bool writing ABSL_GUARDED_BY(mutex) = false;           // a write of the call is under way
  bool finish_requested ABSL_GUARDED_BY(mutex) = false;  // by the console
  bool finish_written ABSL_GUARDED_BY(mutex) = false;    // in this call
  bool cancelled ABSL_GUARDED_BY(mutex) = false;
  int64_t reconnects ABSL_GUARDED_BY(mutex) = 0;
  std::optional<v1::Accepted> accepted ABSL_GUARDED_BY(mutex);
  std::optional<v1::JobResult> result ABSL_GUARDED_BY(mutex);
  std::optional<absl::Status> ended ABSL_GUARDED_BY(mutex);

  /// Until the acquisition has ended.
  void Run(v1::AcquireRequest opening);
  /// One call, from its first message to its status.
  /// `limit`: how long the answer to the first message may take.
  absl::Status RunCall(const v1::AcquireRequest& opening, absl::Duration limit, Call& c);
  /// `ok`: it went well.
  void OnEvent(CallEvent event, bool ok, const v1::AcquireRequest& opening, Call& c);
  void Handle(const v1::AcquireResponse& response, Call& c);
  absl::Status AcceptedAgain(const v1::Accepted& answer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void StartNextWrite() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  /// How the acquisition ends after a call that ended with `status`; nothing when it is tried
  /// again.
  std::optional<absl::Status> Verdict(absl::Status status, const Call& c, Reconnect& reconnect)
      ABSL_LOCKS_EXCLUDED(mutex);
  absl::Status Send(uint32_t index, const grpc::Slice& pixels,
                    const std::optional<ProjectionMatrix>& measured, float dose);
  absl::Status EndedBefore(uint32_t index) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  // The thread's own:
  std::optional<absl::Status> broken_promise;  // of the server
  absl::Status last_break;                     // with which the last call ended
};

}  // namespace isocenter::client
