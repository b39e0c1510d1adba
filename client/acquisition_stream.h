// Streams one acquisition into the service while it is exposed. What a console links against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/channel.h"
#include "isocenter/v1/acquisition.pb.h"
#include "kernels/geometry/projection_matrix.h"

namespace isocenter::client {

/// The functions are called from the stream's own thread, one at a time, and must return quickly.
/// There SendFrame and Finish are refused, and the stream must not be destroyed. What one throws
/// ends the acquisition with UNKNOWN and what it says; the job waits for its console.
struct AcquisitionStreamOptions {
  /// Frames and bytes that may be sent and not yet acknowledged; SendFrame waits beyond. They are
  /// kept in memory, to be sent again when the connection breaks. One frame is always allowed.
  int max_frames_in_flight = 64;
  int64_t max_bytes_in_flight = int64_t{512} << 20;
  /// How long the server may take to admit the acquisition, and to take it up again.
  absl::Duration admission_timeout = absl::Seconds(30);
  /// How long a broken connection is tried again; zero: its error ends the acquisition.
  absl::Duration reconnect_timeout = absl::Seconds(120);
  /// Where there are several nodes: how long the acquisition's may be away, or silent, before all
  /// frames are sent to another one; zero: they stay.
  absl::Duration failover_after = absl::Seconds(2);
  /// For that, frames are kept until the result is there: so many bytes in memory, beyond them in a
  /// file without a name in `kept_frames_folder`. Where that is empty, or full, the acquisition
  /// stays with its node.
  int64_t max_kept_bytes = int64_t{4} << 30;
  std::string kept_frames_folder = {};
  /// The W3C traceparent that the job's spans hang below, where the node makes traces; empty: none.
  /// Open refuses what is none.
  std::string trace_parent = {};
  /// Ends Open and Resume early. An attempt under way has a second left to be answered, so that a
  /// job that has just begun can be cancelled by its name; after it they return CANCELLED.
  std::stop_token stop = {};
  std::function<void(const v1::JobProgress&)> on_progress = {};
  std::function<void(const v1::JobWarning&)> on_warning = {};
  std::function<void(const v1::Preview&)> on_preview = {};
  /// For each frame that SendFrame took, once, when the server has it.
  std::function<void(uint32_t frame_index)> on_acknowledged = {};
  /// The connection has broken, for this reason, and is about to be tried again. All that the
  /// server had sent through it has been told before. Within Open it is called by Open's caller.
  std::function<void(const absl::Status& why)> on_interrupted = {};
  /// The acquisition goes on at this node: all frames that were sent are sent to it, too.
  std::function<void(const std::string& node)> on_moved = {};
};

/// Whether a text may be sent as AcquisitionStreamOptions::trace_parent. INVALID_ARGUMENT with the
/// text and what is legal.
absl::Status CheckTraceParent(absl::string_view text);

/// One acquisition: Open, then SendFrame for each frame, then Finish.
///
///   auto stream = AcquisitionStream::Open(channel, header, {});
///   for (uint32_t i = (*stream)->accepted().next_frame_index(); i < frames; ++i)
///     if (auto s = (*stream)->SendFrame(i, pixels(i)); !s.ok()) return s;
///   auto result = (*stream)->Finish();
///
/// When the connection breaks, before or after Finish, the stream makes a new one, takes up the job
/// where it stands and sends again what the server lacks. Only SendFrame and Finish take longer.
/// Also Open repeats what broke before the answer; the header's request_id, or one that Open makes,
/// keeps that from becoming a second job.
///
/// Where there are several nodes behind the address, Open asks each what it would make of the
/// acquisition and sends it to the best that takes it; later calls go to the same one
/// (docs/adr/0022-several-nodes.md). When that one is away for options.failover_after, before or
/// after Finish, another gets all of it, under the same job id
/// (docs/adr/0067-a-scan-outlives-its-node.md).
///
/// SendFrame and Finish belong to one thread; the other functions may be called from any.
class AcquisitionStream {
 public:
  /// Sends the header and waits until the server admits it. Errors: those of
  /// AcquisitionService.Acquire, DEADLINE_EXCEEDED after options.admission_timeout, CANCELLED by
  /// options.stop, INVALID_ARGUMENT naming field, byte and offset of a text of the header that is
  /// not UTF-8, before anything is sent, UNAVAILABLE: at once where no server can be reached, after
  /// options.reconnect_timeout where the connection broke.
  static absl::StatusOr<std::unique_ptr<AcquisitionStream>> Open(
      const ServiceChannel& channel, const v1::AcquisitionHeader& header,
      AcquisitionStreamOptions options = {});

  /// Goes on with a job that another stream or process began with this header. Of the frames that
  /// the server has already, the first that is handed in is sent, and compared there: frames of
  /// another scan end the stream with INVALID_ARGUMENT; the others are not sent. Errors: as Open;
  /// NOT_FOUND when the server does not know the job, INVALID_ARGUMENT when it was begun with
  /// another acquisition, PERMISSION_DENIED when another caller began it.
  static absl::StatusOr<std::unique_ptr<AcquisitionStream>> Resume(
      const ServiceChannel& channel, const v1::AcquisitionHeader& header, const std::string& job_id,
      AcquisitionStreamOptions options = {});

  /// Ends the call when it is under way; the job waits for its console. JobClient::Cancel ends it.
  ~AcquisitionStream();
  AcquisitionStream(const AcquisitionStream&) = delete;
  AcquisitionStream& operator=(const AcquisitionStream&) = delete;

  /// What the server answered first: job id, grid, first frame that it wants, the first node.
  const v1::Accepted& accepted() const;

  /// Sends one frame with its CRC-32C. Frames may come in any order, and some never. One that was
  /// sent already, or that the server has, is not sent again. Waits while the window of
  /// unacknowledged frames is full. `pixels` as Frame.pixels; `measured` replaces the planned
  /// matrix; `dose` as Frame.dose, `phase` as Frame.phase: all frames of an acquisition tell one,
  /// or none does. The pixels are copied; the second overload takes them over instead. Errors:
  /// INVALID_ARGUMENT (index or size do not fit the header, or `measured`, `dose` or `phase` are
  /// nothing that a frame may tell; nothing was sent, and the acquisition goes on); the error with
  /// which the server ended the call; NOT_FOUND (after a break: it knows the job no more);
  /// CANCELLED. A frame that comes when there is a result without it, of which on_warning told, is
  /// no error.
  absl::Status SendFrame(uint32_t index, std::span<const std::byte> pixels,
                         const std::optional<ProjectionMatrix>& measured = std::nullopt,
                         float dose = 0, std::optional<float> phase = std::nullopt);
  absl::Status SendFrame(uint32_t index, std::vector<std::byte>&& pixels,
                         const std::optional<ProjectionMatrix>& measured = std::nullopt,
                         float dose = 0, std::optional<float> phase = std::nullopt);

  /// Tells the server that all frames are sent, and waits for the result. Errors: as SendFrame.
  absl::StatusOr<v1::JobResult> Finish();

  /// Breaks the call off: the other functions return CANCELLED.
  void Cancel();

  /// Frames that the server has; fewer again when the acquisition has gone to another node.
  int64_t acknowledged_frames() const;
  /// The node that has the acquisition now; empty: there is no choice.
  std::string node() const;
  /// How often a broken connection was replaced.
  int64_t reconnects() const;

 private:
  struct State;
  explicit AcquisitionStream(std::unique_ptr<State> state);
  /// `limit`: how long the first call's answer may take.
  static absl::StatusOr<std::unique_ptr<AcquisitionStream>> Start(
      const ServiceChannel& channel, const v1::AcquisitionHeader& header,
      v1::AcquireRequest opening, AcquisitionStreamOptions options, absl::Duration limit,
      const std::vector<std::string>& nodes, const std::string& node);
  /// One attempt, at the best node that takes it.
  static absl::StatusOr<std::unique_ptr<AcquisitionStream>> OpenOnce(
      const ServiceChannel& channel, const v1::AcquisitionHeader& header,
      const AcquisitionStreamOptions& options);
  using Attempt = std::function<absl::StatusOr<std::unique_ptr<AcquisitionStream>>()>;
  /// Attempts until one does not break.
  static absl::StatusOr<std::unique_ptr<AcquisitionStream>> Repeat(
      const ServiceChannel& channel, const AcquisitionStreamOptions& options,
      const Attempt& attempt);
  std::unique_ptr<State> state_;
};

}  // namespace isocenter::client
