// A keeper that a test holds up, breaks and repairs.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/replicas/keeper.h"

namespace isocenter::replicas {

/// Keeps which frames it was sent, of each job. Thread-safe.
class FakeKeeper : public Keeper {
 public:
  enum class Mood { kWell, kStalls, kRefuses };

  void Be(Mood mood) {
    absl::MutexLock lock(&mutex_);
    mood_ = mood;
  }
  std::map<int, std::string> frames(const std::string& job) const {
    absl::MutexLock lock(&mutex_);
    const auto found = jobs_.find(job);
    return found == jobs_.end() ? std::map<int, std::string>() : found->second.frames;
  }
  std::set<int> gaps(const std::string& job) const {
    absl::MutexLock lock(&mutex_);
    const auto found = jobs_.find(job);
    return found == jobs_.end() ? std::set<int>() : found->second.gaps;
  }
  bool finished(const std::string& job) const {
    absl::MutexLock lock(&mutex_);
    const auto found = jobs_.find(job);
    return found != jobs_.end() && found->second.finished;
  }
  /// Frames that were sent, again or not.
  int sent() const {
    absl::MutexLock lock(&mutex_);
    return sent_;
  }
  ReplicaHeader header(const std::string& job) const {
    absl::MutexLock lock(&mutex_);
    return jobs_.at(job).header;
  }
  std::vector<std::string> reported() const {
    absl::MutexLock lock(&mutex_);
    return reported_;
  }

  std::unique_ptr<ReplicaStream> Open() override { return std::make_unique<Stream>(*this); }
  absl::Status Report(const Origin&, const std::vector<std::string>& jobs) override {
    absl::MutexLock lock(&mutex_);
    reported_ = jobs;
    return absl::OkStatus();
  }

 private:
  struct Job {
    ReplicaHeader header;
    std::map<int, std::string> frames;
    std::set<int> gaps;
    bool finished = false;
  };

  class Stream : public ReplicaStream {
   public:
    explicit Stream(FakeKeeper& keeper) : keeper_(keeper) {}
    absl::StatusOr<std::vector<bool>> Begin(const ReplicaHeader& header) override {
      absl::MutexLock lock(&keeper_.mutex_);
      if (keeper_.mood_ == Mood::kRefuses) return absl::UnavailableError("it refuses");
      job_ = header.job_id;
      Job& job = keeper_.jobs_[job_];
      job.header = header;
      std::vector<bool> has(header.frames, false);
      for (const auto& [index, pixels] : job.frames) has[index] = true;
      for (const int index : job.gaps) has[index] = true;
      return has;
    }
    absl::Status SendFrame(int index, std::string pixels, const jobs::FrameMeasurement&) override {
      return Take([&](Job& job) {
        job.frames[index] = std::move(pixels);
        ++keeper_.sent_;
        kept_.push_back(index);
      });
    }
    absl::Status SendGap(int index) override {
      return Take([&](Job& job) {
        job.gaps.insert(index);
        kept_.push_back(index);
      });
    }
    absl::Status SendFinish() override {
      return Take([](Job& job) { job.finished = true; });
    }
    absl::StatusOr<int> AwaitKept() override {
      absl::MutexLock lock(&keeper_.mutex_);
      const auto news = [this]() ABSL_SHARED_LOCKS_REQUIRED(keeper_.mutex_) {
        return cancelled_ || keeper_.mood_ == Mood::kRefuses ||
               (keeper_.mood_ == Mood::kWell && !kept_.empty());
      };
      keeper_.mutex_.Await(absl::Condition(&news));
      if (cancelled_) return absl::CancelledError("cancelled");
      if (keeper_.mood_ == Mood::kRefuses) return absl::UnavailableError("it has gone");
      const int index = kept_.front();
      kept_.pop_front();
      return index;
    }
    void Cancel() override {
      absl::MutexLock lock(&keeper_.mutex_);
      cancelled_ = true;
    }

   private:
    template <class Change>
    absl::Status Take(const Change& change) {
      absl::MutexLock lock(&keeper_.mutex_);
      if (cancelled_ || keeper_.mood_ == Mood::kRefuses) return absl::UnavailableError("gone");
      change(keeper_.jobs_[job_]);
      return absl::OkStatus();
    }

    FakeKeeper& keeper_;
    std::string job_;
    std::deque<int> kept_;
    bool cancelled_ = false;
  };

  mutable absl::Mutex mutex_;
  Mood mood_ ABSL_GUARDED_BY(mutex_) = Mood::kWell;
  std::map<std::string, Job> jobs_ ABSL_GUARDED_BY(mutex_);
  int sent_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> reported_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::replicas
