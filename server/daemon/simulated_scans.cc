#include "server/daemon/simulated_scans.h"

#include <pthread.h>
#include <sys/resource.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "isocenter/v1/acquisition.pb.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/thread_pool.h"
#include "kernels/base/units.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/phantom/noise.h"
#include "kernels/phantom/phantom.h"
#include "proto/wire/geometry.h"
#include "server/base/log.h"
#include "server/rpc/translation/translate_header.h"

namespace isocenter::daemon {
namespace {

// A head of 18 cm in a cube of 192 voxels: seconds on two cores, and 20 MiB of frames.
constexpr int kFrames = 160, kPixels = 256, kVoxels = 192;
constexpr double kPitchMm = 1.2, kVoxelMm = 1;
constexpr double kPhantomMm = 90, kMuWaterPerMm = 0.02;
constexpr double kUnattenuated = 60000, kPhotons = 40000;

Detector SimulatedDetector() {
  return {.columns = kPixels, .rows = kPixels, .pitch_u_mm = kPitchMm, .pitch_v_mm = kPitchMm};
}

absl::StatusOr<Trajectory> SimulatedArm() {
  constexpr double kAmplitude = 1;
  constexpr uint64_t kSeed = 1;
  return MakeWobblingOrbit({.views = kFrames,
                            .source_to_isocenter_mm = 750,
                            .source_to_detector_mm = 1200,
                            .arc = DegreesToRadians(200)},
                           SimulatedDetector(), kAmplitude, kSeed);
}

/// Nobody takes what it says for a patient, and every live scan goes before it.
v1::AcquisitionHeader SimulatedHeader(const Trajectory& arm, double frames_per_second) {
  v1::AcquisitionHeader header;
  v1::PatientStudy& study = *header.mutable_patient_study();
  study.set_patient_name("Phantom^Head");
  study.set_patient_id("SIMULATED");
  study.set_patient_sex("O");
  study.set_study_description("Simulated acquisition");
  header.set_station_name("simulator");
  header.set_body_part_examined("HEAD");
  header.set_job_class(v1::JOB_CLASS_INTERACTIVE);
  header.set_frame_rate_hz(frames_per_second);
  header.set_pixel_type(v1::PIXEL_TYPE_UINT16_COUNTS);
  header.set_i0_counts(kUnattenuated);
  header.set_frame_count(kFrames);
  *header.mutable_detector() = wire::ToProto(SimulatedDetector());
  for (const ProjectionMatrix& matrix : arm) {
    *header.mutable_matrices()->add_matrix() = wire::ToProto(matrix);
  }
  *header.mutable_grid() =
      wire::ToProto(CenteredGrid(kVoxels, kVoxels, kVoxels, {kVoxelMm, kVoxelMm, kVoxelMm}));
  return header;
}

absl::StatusOr<pipeline::AcquisitionRequest> SimulatedRequest(const config::ProtocolBook& protocols,
                                                              double frames_per_second) {
  ISO_ASSIGN_OR_RETURN(const Trajectory arm, SimulatedArm());
  constexpr int64_t kMessageBytes = 1 << 20;  // of a frame and what is around it
  return rpc::TranslateHeader(SimulatedHeader(arm, frames_per_second), protocols, kMessageBytes);
}

/// Its frames on the way into the job.
class Feed : public pipeline::FrameProducer {
 public:
  void OnRoom() override {
    absl::MutexLock lock(&mutex_);
    has_room_ = true;
  }
  void OnRefused(const absl::Status&) override {
    absl::MutexLock lock(&mutex_);
    is_refused_ = true;
  }
  /// Whether there is room for another frame, as AddFrame has said, or else once it comes.
  bool AwaitRoom(bool has_room) {
    absl::MutexLock lock(&mutex_);
    const auto news = [this, has_room]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return has_room || has_room_ || is_refused_;
    };
    mutex_.Await(absl::Condition(&news));
    has_room_ = false;
    return !is_refused_;
  }

 private:
  absl::Mutex mutex_;
  bool has_room_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_refused_ ABSL_GUARDED_BY(mutex_) = false;
};

/// One frame's pixels.
std::shared_ptr<const std::vector<uint16_t>> Exposed(const phantom::Phantom& head,
                                                     const Trajectory& arm, int view,
                                                     ThreadPool& pool) {
  const Detector detector = SimulatedDetector();
  const Shape3 shape{1, detector.rows, detector.columns};
  std::vector<float> line_integrals(shape.count());
  phantom::ProjectView(head, arm[view], detector, 1, pool, {line_integrals.data(), shape});
  auto counts = std::make_shared<std::vector<uint16_t>>(shape.count());
  phantom::ToCounts(line_integrals, kUnattenuated, {.photons = kPhotons}, view, *counts);
  return counts;
}

}  // namespace

void SimulatedScans::Stop() {
  std::thread sender;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    const auto answered = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return !asking_; };
    mutex_.Await(absl::Condition(&answered));
    sender = std::move(sender_);
  }
  if (sender.joinable()) sender.join();
}

absl::Status SimulatedScans::Enter() {
  absl::MutexLock lock(&mutex_);
  if (stopping_) return absl::UnavailableError("the service stops");
  if (asking_) {
    return absl::FailedPreconditionError(
        "another simulated scan is being planned; legal is one at a time");
  }
  const absl::StatusOr<jobs::JobSnapshot> last = table_.Get(last_);
  if (sending_ || (last.ok() && !jobs::HasEnded((*last)->state))) {
    return absl::FailedPreconditionError(
        absl::StrCat("simulated scan '", last_, "' is under way; legal is one at a time"));
  }
  asking_ = true;
  return absl::OkStatus();
}

void SimulatedScans::Begin(const std::string& by, Done done) {
  if (const absl::Status entered = Enter(); !entered.ok()) return done(entered);
  absl::StatusOr<pipeline::AcquisitionRequest> request =
      SimulatedRequest(protocols_, frames_per_second_);
  if (!request.ok()) return OnAccepted(request.status(), done);
  request->caller = absl::StrCat("simulated for ", by);
  engine_.Accept(
      *std::move(request), [] { return true; },
      [this, done = std::move(done)](absl::StatusOr<pipeline::Engine::Accepted> accepted) {
        OnAccepted(std::move(accepted), done);
      });
}

void SimulatedScans::OnAccepted(absl::StatusOr<pipeline::Engine::Accepted> accepted,
                                const Done& done) {
  {
    absl::MutexLock lock(&mutex_);
    if (accepted.ok() && accepted->job != nullptr) {
      if (sender_.joinable()) sender_.join();  // it has sent all
      last_ = accepted->snapshot->id;
      sending_ = true;
      sender_ = std::thread([this, job = accepted->job] { Send(job); });
    }
    asking_ = false;
  }
  if (!accepted.ok()) return done(accepted.status());
  done(accepted->snapshot);
}

bool SimulatedScans::AwaitTurn(absl::Time turn) {
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithDeadline(absl::Condition(&stopping_), turn);
  return !stopping_;
}

void SimulatedScans::Send(const std::shared_ptr<pipeline::ReconstructionJob>& job) {
  pthread_setname_np(pthread_self(), "iso-simulator");
  constexpr int kNiceness = 10;
  (void)setpriority(PRIO_PROCESS, 0, kNiceness);  // Linux: of this thread alone
  const absl::Status sent = [&]() -> absl::Status {
    ISO_ASSIGN_OR_RETURN(const Trajectory arm, SimulatedArm());
    ISO_ASSIGN_OR_RETURN(const auto head, phantom::MakePhantom("head", kPhantomMm, kMuWaterPerMm));
    const auto feed = std::make_shared<Feed>();
    ISO_ASSIGN_OR_RETURN(const int64_t stream, job->Attach(feed));
    ThreadPool pool(1);
    const absl::Time begin = absl::Now();
    for (int view = 0; view < kFrames; ++view) {
      const auto pixels = Exposed(*head, arm, view, pool);
      if (!AwaitTurn(begin + absl::Seconds(view / frames_per_second_))) {
        const auto why = absl::UnavailableError("the service stopped during the simulated scan");
        job->Fail(why);
        return why;
      }
      ISO_ASSIGN_OR_RETURN(const bool has_room,
                           job->AddFrame(stream, {.index = static_cast<uint32_t>(view),
                                                  .pixels = {std::as_bytes(std::span(*pixels))},
                                                  .memory = pixels}));
      if (!feed->AwaitRoom(has_room)) return absl::AbortedError("the job takes nothing more");
    }
    return job->FinishInput(stream);
  }();
  if (!sent.ok()) {
    spdlog::warn("event=simulation_ended job={} reason=\"{}\"", job->id(), sent.ToString());
  }
  absl::MutexLock lock(&mutex_);
  sending_ = false;
}

}  // namespace isocenter::daemon
