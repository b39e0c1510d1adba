// Which frames of an acquisition are there, which are lost, and which chunks can be computed.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "kernels/recon/plan.h"
#include "server/jobs/frame_spool.h"
#include "server/jobs/job.h"

namespace isocenter::pipeline {

/// Indices first..last, both included.
struct FrameRange {
  int first = 0, last = 0;
  friend bool operator==(const FrameRange&, const FrameRange&) = default;
};

/// What stands for one view of a chunk: a frame, or a substitute for one that is lost.
struct ViewSource {
  int view = 0;
  int frame = 0;           // whose pixels are used
  int blended_with = -1;   // a second frame, or none
  float weight = 0;        // of the second
  bool own_matrix = true;  // `frame`'s matrix; else the view's planned one
  friend bool operator==(const ViewSource&, const ViewSource&) = default;
};

/// A frame that does not come is given up when later ones say that it is lost, or at the end of
/// input, if its job tolerates that. Later ones say so when kPatience of the same stream have come,
/// the first of them kHold ago; of a stream that sends in an order of its own, twice as many more
/// as its frames have been behind others. Pure bookkeeping. Not thread-safe.
class FrameLedger {
 public:
  static constexpr int kPatience = 16;
  static constexpr absl::Duration kHold = absl::Seconds(2);

  /// `states`: what the spool holds already, one for each frame of the acquisition.
  FrameLedger(std::vector<jobs::FrameState> states, const jobs::MissingFrames& tolerated);

  enum class Taken { kNew, kDuplicate, kLate };
  /// A frame has come. kNew: it is being written, until Commit or Abort.
  Taken Begin(int index, absl::Time came);
  void Commit(int index);
  void Abort(int index);
  /// A new stream begins: what its predecessor sent says nothing about what it will send.
  void BeginStream();

  /// Frames to be given up now; empty while there is hope. The caller calls BeginGiveUp, records
  /// them and then calls GiveUp.
  std::vector<int> Overdue(absl::Time now) const;
  /// Frames to be given up because no more will come. Errors: FAILED_PRECONDITION (more are missing
  /// than the job tolerates; says which).
  absl::StatusOr<std::vector<int>> MissingAtEnd() const;
  /// Whether a frame of which nothing has come may be given up at once, as it cannot be used.
  bool MayLose(int index) const;
  /// What is legal of frames that are lost, as a clause for people.
  std::string ToleratedText() const;
  /// From now on the frame is late; nothing stands for it before GiveUp.
  void BeginGiveUp(int index);
  void GiveUp(int index);

  /// Nothing of it has come.
  bool IsMissing(int index) const { return entries_[index] == Entry::kMissing; }
  int frames() const { return static_cast<int>(entries_.size()); }
  int present() const { return present_; }
  int lost() const { return lost_; }
  /// Frames whose fate is on its way to the disk.
  int being_recorded() const { return writing_ + leaving_; }
  /// Every frame is there or given up.
  bool complete() const { return present_ + lost_ == frames(); }

  /// Frames at the beginning that are there or given up.
  int prefix() const { return prefix_; }
  /// The first frame of which nothing has come; frames(): none.
  int first_missing() const;
  /// Those beyond the first that is missing.
  std::vector<FrameRange> Beyond() const;

  /// Whether all that stands for a chunk's views is there.
  bool Ready(const recon::Chunk& chunk) const;
  /// For a chunk that is ready.
  std::vector<ViewSource> Sources(const recon::Chunk& chunk) const;

 private:
  enum class Entry : uint8_t { kMissing, kWriting, kPresent, kLeaving, kLost };

  bool Settled(int index) const {
    return entries_[index] == Entry::kPresent || entries_[index] == Entry::kLost;
  }
  /// `index` has been settled: moves prefix_ and end_ on.
  void ExtendTo(int index);
  /// Frames that the job tolerates to be lost.
  int MostMissing() const;
  /// The nearest frame before or after that is not lost; -1 or frames(): none.
  int Before(int index) const;
  int After(int index) const;
  /// Runs of missing frames before `end`.
  std::vector<FrameRange> Gaps(int end) const;
  ViewSource SubstituteFor(int view) const;

  const jobs::MissingFrames tolerated_;
  std::vector<Entry> entries_;
  std::vector<absl::Time> came_;  // of this stream and there; the others: in the infinite future
  int present_ = 0, lost_ = 0, writing_ = 0, leaving_ = 0;
  int prefix_ = 0;
  int end_ = 0;      // one beyond the last frame that has come
  int highest_ = 0;  // that this stream sent
  int behind_ = 0;   // how far a frame of this stream came after a higher one, at most
};

}  // namespace isocenter::pipeline
