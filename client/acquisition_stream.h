// Streams one acquisition into the service while it is exposed. What a console links against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/channel.h"
#include "isocenter/v1/acquisition.pb.h"
#include "kernels/geometry/projection_matrix.h"

namespace isocenter::client {

struct AcquisitionStreamOptions {
  /// Frames that may be sent and not yet acknowledged; SendFrame waits beyond. At least 1.
  int max_frames_in_flight = 64;
  /// How long the server may take to admit the acquisition.
  absl::Duration admission_timeout = absl::Seconds(30);
  /// Called for each progress message, from the stream's own thread; must return quickly.
  std::function<void(const v1::JobProgress&)> on_progress;
};

/// One acquisition: Open, then SendFrame for each frame, then Finish.
///
///   auto stream = AcquisitionStream::Open(channel, header, {});
///   for (uint32_t i = (*stream)->accepted().next_frame_index(); i < frames; ++i)
///     if (auto s = (*stream)->SendFrame(i, pixels(i)); !s.ok()) return s;
///   auto result = (*stream)->Finish();
///
/// SendFrame and Finish belong to one thread; Cancel and acknowledged_frames may be called from
/// any.
class AcquisitionStream {
 public:
  /// Sends the header and waits until the server admits it. Errors: those of
  /// AcquisitionService.Acquire, DEADLINE_EXCEEDED after options.admission_timeout, UNAVAILABLE.
  static absl::StatusOr<std::unique_ptr<AcquisitionStream>> Open(
      const ServiceChannel& channel, const v1::AcquisitionHeader& header,
      AcquisitionStreamOptions options = {});

  /// Ends the call, as Cancel, when it is still under way.
  ~AcquisitionStream();
  AcquisitionStream(const AcquisitionStream&) = delete;
  AcquisitionStream& operator=(const AcquisitionStream&) = delete;

  /// What the server answered to the header: job id, grid, first frame that it wants.
  const v1::Accepted& accepted() const;

  /// Sends one frame with its CRC-32C. Waits while the window of unacknowledged frames is full.
  /// `pixels` as Frame.pixels; `measured` replaces the planned matrix. Errors: the error with which
  /// the server ended the call; CANCELLED.
  absl::Status SendFrame(uint32_t index, std::span<const std::byte> pixels,
                         const std::optional<ProjectionMatrix>& measured = std::nullopt);

  /// Tells the server that all frames are sent, and waits for the result. Errors: as SendFrame.
  absl::StatusOr<v1::JobResult> Finish();

  /// Breaks the call off: the other functions return CANCELLED.
  void Cancel();

  /// Frames that the server has taken over, counted from the first of the acquisition.
  int64_t acknowledged_frames() const;

 private:
  struct State;
  explicit AcquisitionStream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace isocenter::client
