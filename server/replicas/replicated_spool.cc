#include "server/replicas/replicated_spool.h"

#include <pthread.h>

#include <filesystem>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/regular_file.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_clock.h"
#include "server/base/log.h"
#include "server/storage/whole_file.h"

namespace isocenter::replicas {
namespace {

constexpr absl::Duration kBetweenLooks = absl::Milliseconds(50);
constexpr absl::Duration kBetweenReports = absl::Seconds(1);
constexpr char kSpoolIdFile[] = "replica-id";

/// The frames of one job, here and at the keeper.
class ReplicatedJob : public jobs::JobSpool {
 public:
  ReplicatedJob(std::shared_ptr<jobs::JobSpool> frames, std::shared_ptr<ReplicaLink> link)
      : frames_(std::move(frames)), link_(std::move(link)) {}

  const std::string& acquisition() const override { return frames_->acquisition(); }
  std::vector<jobs::FrameState> states() const override { return frames_->states(); }
  std::vector<std::optional<float>> phases() const override { return frames_->phases(); }
  bool finished() const override { return frames_->finished(); }
  void Append(jobs::SpoolFrame frame, std::function<void(absl::Status)> done) override {
    const int index = frame.index;
    frames_->Append(std::move(frame),
                    [link = link_, index, done = std::move(done)](absl::Status status) mutable {
                      if (!status.ok()) return done(std::move(status));
                      link->Add(index, std::move(done));
                    });
  }
  absl::Status DeclareGap(int index) override {
    ISO_RETURN_IF_ERROR(frames_->DeclareGap(index));
    link_->AddGap(index);
    return absl::OkStatus();
  }
  absl::Status Finish() override {
    ISO_RETURN_IF_ERROR(frames_->Finish());
    link_->Finish();
    return absl::OkStatus();
  }
  absl::StatusOr<jobs::FrameMeasurement> Read(int index, std::span<std::byte> pixels) override {
    return frames_->Read(index, pixels);
  }
  absl::StatusOr<uint32_t> Checksum(int index) const override { return frames_->Checksum(index); }

 private:
  const std::shared_ptr<jobs::JobSpool> frames_;
  const std::shared_ptr<ReplicaLink> link_;
};

std::string NewSpoolId() {
  std::random_device entropy;
  return absl::StrFormat("%08x%08x%08x%08x", entropy(), entropy(), entropy(), entropy());
}

}  // namespace

absl::StatusOr<std::string> SpoolId(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / kSpoolIdFile;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    const std::string id = NewSpoolId();
    ISO_RETURN_IF_ERROR(storage::WriteWhole(path, id));
    return id;
  }
  constexpr size_t kMostBytes = 64;
  ISO_ASSIGN_OR_RETURN(const std::string text,
                       ReadRegularFile("replica-id", path.string(), kMostBytes));
  const std::string id = text.substr(0, text.find('\n'));
  if (CheckOrigin({.node = "this", .spool_id = id}).ok()) return id;
  return absl::DataLossError(absl::StrCat(path.string(),
                                          " does not hold 32 digits of 0-9a-f; remove it, and "
                                          "copies that were made before belong to a lost disk"));
}

ReplicatedSpool::ReplicatedSpool(
    jobs::FrameSpool& spool, LinkEnvironment environment,
    std::function<absl::StatusOr<int64_t>(const jobs::JobSpool&)> frame_bytes)
    : spool_(spool),
      environment_(std::move(environment)),
      frame_bytes_(std::move(frame_bytes)),
      watcher_([this] { Watch(); }) {}

ReplicatedSpool::~ReplicatedSpool() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  watcher_.join();
  if (reporter_.joinable()) reporter_.join();
  Links links;
  std::vector<std::shared_ptr<ReplicaLink>> ended;
  absl::MutexLock lock(&mutex_);
  links.swap(links_);
  ended.swap(ended_);
}

absl::StatusOr<std::shared_ptr<jobs::JobSpool>> ReplicatedSpool::Create(
    const std::string& job_id, const std::string& acquisition, int frames, int64_t frame_bytes,
    int64_t spared_bytes) {
  ISO_ASSIGN_OR_RETURN(std::shared_ptr<jobs::JobSpool> made,
                       spool_.Create(job_id, acquisition, frames, frame_bytes, spared_bytes));
  return std::make_shared<ReplicatedJob>(made, LinkOf(job_id, made, frame_bytes));
}

absl::StatusOr<std::shared_ptr<jobs::JobSpool>> ReplicatedSpool::Open(const std::string& job_id) {
  ISO_ASSIGN_OR_RETURN(std::shared_ptr<jobs::JobSpool> opened, spool_.Open(job_id));
  // The volume of one that has ended is stored, or will never be.
  if (absl::IsFailedPrecondition(environment_.begun_by(job_id).status())) return opened;
  const absl::StatusOr<int64_t> frame_bytes = frame_bytes_(*opened);
  if (!frame_bytes.ok()) return opened;  // nobody can read it: whoever opens it finds out
  return std::make_shared<ReplicatedJob>(opened, LinkOf(job_id, opened, *frame_bytes));
}

std::shared_ptr<ReplicaLink> ReplicatedSpool::LinkOf(const std::string& job_id,
                                                     const std::shared_ptr<jobs::JobSpool>& frames,
                                                     int64_t frame_bytes) {
  absl::MutexLock lock(&mutex_);
  std::shared_ptr<ReplicaLink>& link = links_[job_id];
  if (link == nullptr) {
    link = std::make_shared<ReplicaLink>(job_id, frames, frame_bytes, environment_);
  }
  return link;
}

void ReplicatedSpool::EndLink(const std::string& job_id) {
  std::shared_ptr<ReplicaLink> link;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = links_.find(job_id);
    if (found == links_.end()) return;
    link = std::move(found->second);
    links_.erase(found);
    ended_.push_back(link);
  }
  link->End();
}

void ReplicatedSpool::Release(const std::string& job_id) {
  EndLink(job_id);
  spool_.Release(job_id);
}

absl::Status ReplicatedSpool::Remove(const std::string& job_id) {
  EndLink(job_id);
  return spool_.Remove(job_id);
}

ReplicatedSpool::Usage ReplicatedSpool::usage() const {
  absl::MutexLock lock(&mutex_);
  Usage usage{.keeper_reached = is_reached_};
  for (const auto& [id, link] : links_) ++(link->is_degraded() ? usage.degraded : usage.jobs);
  return usage;
}

bool ReplicatedSpool::AwaitStop(absl::Duration duration) {
  absl::MutexLock lock(&mutex_);
  AwaitFor(mutex_, absl::Condition(&stopping_), duration);
  return stopping_;
}

void ReplicatedSpool::Watch() {
  pthread_setname_np(pthread_self(), "iso-replicas");
  while (!AwaitStop(kBetweenLooks)) {
    std::vector<std::shared_ptr<ReplicaLink>> open, ended;
    {
      absl::MutexLock lock(&mutex_);
      for (const auto& [id, link] : links_) open.push_back(link);
      // Others may hold one for a moment, and must not be the last: its end waits for its thread.
      std::erase_if(ended_, [&](std::shared_ptr<ReplicaLink>& link) {
        if (link.use_count() > 1) return false;
        ended.push_back(std::move(link));
        return true;
      });
    }
    for (const auto& link : open) link->Look();
  }
}

void ReplicatedSpool::StartReports() {
  reporter_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "iso-reports");
    do {
      Report();
    } while (!AwaitStop(kBetweenReports));
  });
}

void ReplicatedSpool::Report() {
  std::vector<std::string> jobs;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [id, link] : links_) {
      if (!link->has_ended()) jobs.push_back(id);
    }
  }
  const absl::Status told = environment_.keeper.Report(environment_.origin, jobs);
  {
    absl::MutexLock lock(&mutex_);
    if (told.ok() == is_reached_) return;
    is_reached_ = told.ok();
  }
  if (told.ok()) {
    spdlog::info("event=keeper_reached keeper={}", environment_.keeper_node);
  } else {
    spdlog::warn("event=keeper_not_reached keeper={} reason=\"{}\"", environment_.keeper_node,
                 told.ToString());
  }
}

}  // namespace isocenter::replicas
