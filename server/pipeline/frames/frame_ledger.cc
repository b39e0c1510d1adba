#include "server/pipeline/frames/frame_ledger.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace isocenter::pipeline {
namespace {

std::string Named(const FrameRange& range) {
  return range.first == range.last ? absl::StrCat(range.first)
                                   : absl::StrCat(range.first, " to ", range.last);
}

std::string Named(std::vector<FrameRange> ranges) {
  constexpr size_t kMost = 5;
  const bool more = ranges.size() > kMost;
  if (more) ranges.resize(kMost);
  return absl::StrCat(absl::StrJoin(ranges, ", ",
                                    [](std::string* out, const FrameRange& range) {
                                      absl::StrAppend(out, Named(range));
                                    }),
                      more ? ", ..." : "");
}

/// `index` is above those in the ranges.
void Append(int index, std::vector<FrameRange>& ranges) {
  if (!ranges.empty() && ranges.back().last == index - 1) {
    ranges.back().last = index;
  } else {
    ranges.push_back({index, index});
  }
}

}  // namespace

FrameLedger::FrameLedger(std::vector<jobs::FrameState> states, const jobs::MissingFrames& tolerated)
    : tolerated_(tolerated),
      entries_(states.size(), Entry::kMissing),
      came_(states.size(), absl::InfiniteFuture()) {
  for (int i = 0; i < frames(); ++i) {
    if (states[i] == jobs::FrameState::kMissing) continue;
    const bool present = states[i] == jobs::FrameState::kPresent;
    entries_[i] = present ? Entry::kPresent : Entry::kLost;
    ++(present ? present_ : lost_);
    end_ = i + 1;
  }
  while (prefix_ < frames() && Settled(prefix_)) ++prefix_;
}

FrameLedger::Taken FrameLedger::Begin(int index, absl::Time came) {
  if (entries_[index] == Entry::kLost || entries_[index] == Entry::kLeaving) return Taken::kLate;
  if (entries_[index] != Entry::kMissing) return Taken::kDuplicate;
  entries_[index] = Entry::kWriting;
  came_[index] = came;
  behind_ = std::max(behind_, highest_ - index);
  highest_ = std::max(highest_, index);
  ++writing_;
  return Taken::kNew;
}

void FrameLedger::Commit(int index) {
  entries_[index] = Entry::kPresent;
  --writing_;
  ++present_;
  ExtendTo(index);
}

void FrameLedger::Abort(int index) {
  entries_[index] = Entry::kMissing;
  came_[index] = absl::InfiniteFuture();
  --writing_;
}

void FrameLedger::ExtendTo(int index) {
  end_ = std::max(end_, index + 1);
  while (prefix_ < frames() && Settled(prefix_)) ++prefix_;
}

int FrameLedger::MostMissing() const {
  if (tolerated_.policy == jobs::MissingFramesPolicy::kFail) return 0;
  return static_cast<int>(tolerated_.most_missing * frames());
}

void FrameLedger::BeginStream() {
  came_.assign(entries_.size(), absl::InfiniteFuture());
  highest_ = behind_ = 0;
}

void FrameLedger::BeginGiveUp(int index) {
  entries_[index] = Entry::kLeaving;
  ++leaving_;
}

void FrameLedger::GiveUp(int index) {
  if (entries_[index] == Entry::kLeaving) --leaving_;
  entries_[index] = Entry::kLost;
  ++lost_;
  ExtendTo(index);
}

std::vector<FrameRange> FrameLedger::Gaps(int end) const {
  std::vector<FrameRange> gaps;
  for (int i = prefix_; i < end; ++i) {
    if (entries_[i] == Entry::kMissing) Append(i, gaps);
  }
  return gaps;
}

std::vector<int> FrameLedger::Overdue(absl::Time now) const {
  std::vector<int> overdue;
  if (prefix_ >= end_ || tolerated_.policy == jobs::MissingFramesPolicy::kFail) return overdue;
  const int most = MostMissing();
  for (const FrameRange& gap : Gaps(end_)) {
    int later = 0;
    absl::Time first = absl::InfiniteFuture();
    for (int i = gap.last + 1; i < end_; ++i) {
      if (entries_[i] != Entry::kPresent || came_[i] == absl::InfiniteFuture()) continue;
      ++later;
      first = std::min(first, came_[i]);
    }
    const int length = gap.last - gap.first + 1;
    // What the job does not tolerate may still come; at the end of input it fails.
    if (later < kPatience + 2 * behind_ || now - first < kHold || length > tolerated_.longest_gap ||
        lost_ + leaving_ + static_cast<int>(overdue.size()) + length > most) {
      break;
    }
    for (int i = gap.first; i <= gap.last; ++i) overdue.push_back(i);
  }
  return overdue;
}

absl::StatusOr<std::vector<int>> FrameLedger::MissingAtEnd() const {
  const std::vector<FrameRange> gaps = Gaps(frames());
  std::vector<int> missing;
  int longest = 0;
  for (const FrameRange& gap : gaps) {
    longest = std::max(longest, gap.last - gap.first + 1);
    for (int i = gap.first; i <= gap.last; ++i) missing.push_back(i);
  }
  if (missing.empty()) return missing;
  const int most = MostMissing(), longest_gap = tolerated_.longest_gap;
  if (lost_ + static_cast<int>(missing.size()) > most || longest > longest_gap || present_ == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(lost_ + missing.size(), " of ", frames(), " frames are missing (",
                     lost_ > 0 ? absl::StrCat(lost_, " replaced before, and ") : "", Named(gaps),
                     "); ", ToleratedText()));
  }
  return missing;
}

bool FrameLedger::MayLose(int index) const {
  if (lost_ + leaving_ + 1 > MostMissing()) return false;
  const auto is_lost = [this](int i) {
    return entries_[i] == Entry::kLost || entries_[i] == Entry::kLeaving;
  };
  int first = index, last = index;
  while (first > 0 && is_lost(first - 1)) --first;
  while (last + 1 < frames() && is_lost(last + 1)) ++last;
  return last - first + 1 <= tolerated_.longest_gap;
}

std::string FrameLedger::ToleratedText() const {
  const int most = MostMissing(), longest_gap = tolerated_.longest_gap;
  if (most == 0) {
    return "its protocol tolerates none: see to the console and its network, and send all frames "
           "again";
  }
  return absl::StrCat(
      "legal are at most ", most,
      longest_gap < most ? absl::StrCat(", of which at most ", longest_gap, " in a row") : "");
}

std::vector<FrameRange> FrameLedger::Beyond() const {
  std::vector<FrameRange> ranges;
  for (int i = prefix_; i < end_; ++i) {
    if (Settled(i)) Append(i, ranges);
  }
  return ranges;
}

int FrameLedger::first_missing() const {
  return static_cast<int>(std::ranges::find(entries_, Entry::kMissing) - entries_.begin());
}

int FrameLedger::Before(int index) const {
  do --index;
  while (index >= 0 && entries_[index] == Entry::kLost);
  return index;
}

int FrameLedger::After(int index) const {
  do ++index;
  while (index < frames() && entries_[index] == Entry::kLost);
  return index;
}

bool FrameLedger::Ready(const recon::Chunk& chunk) const {
  const int end = chunk.first_view + chunk.views;
  for (int i = chunk.first_view; i < end; ++i) {
    if (!Settled(i)) return false;
  }
  // A gap at the chunk's end needs the frame after it; one at its beginning has the one before, as
  // earlier chunks are ready first.
  if (entries_[end - 1] != Entry::kLost) return true;
  const int after = After(end - 1);
  return after == frames() || entries_[after] == Entry::kPresent;
}

std::vector<ViewSource> FrameLedger::Sources(const recon::Chunk& chunk) const {
  std::vector<ViewSource> sources;
  for (int i = chunk.first_view; i < chunk.first_view + chunk.views; ++i) {
    sources.push_back(entries_[i] == Entry::kLost ? SubstituteFor(i)
                                                  : ViewSource{.view = i, .frame = i});
  }
  return sources;
}

ViewSource FrameLedger::SubstituteFor(int view) const {
  const int before = Before(view), after = After(view);
  if (before >= 0 && after < frames() &&
      tolerated_.policy == jobs::MissingFramesPolicy::kInterpolate) {
    return {.view = view,
            .frame = before,
            .blended_with = after,
            .weight = static_cast<float>(view - before) / static_cast<float>(after - before),
            .own_matrix = false};
  }
  // The neighbour's rays in the neighbour's geometry, with the weight of the missing view: it
  // counts for both parts of the arc. Also at the ends of the arc, where there is nothing to blend.
  const bool use_before = after >= frames() || (before >= 0 && view - before <= after - view);
  return {.view = view, .frame = use_before ? before : after};
}

}  // namespace isocenter::pipeline
