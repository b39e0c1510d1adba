#include "server/metrics/metrics.h"

#include <deque>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "prometheus/text_serializer.h"
#include "server/http/transport/answers.h"
#include "server/http/transport/http_server.h"
#include "server/metrics/scrape.h"
#include "server/metrics/station_metrics.h"

namespace isocenter::metrics {
namespace {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;

const Histogram::BucketBoundaries kSeconds = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2,
                                              0.5,   1,     2,     5,    10,   20,   50,  100};
// From a coarse volume on a GPU to a fine one on a CPU.
const Histogram::BucketBoundaries kRefinementSeconds = {0.1, 0.2, 0.5, 1,   2,   5,    10,
                                                        20,  50,  100, 200, 500, 1000, 3600};
const Histogram::BucketBoundaries kGups = {0.1, 0.2, 0.5, 1,  1.5, 2,   3,   4,   5,
                                           7,   10,  20,  50, 100, 200, 500, 1000};

// From the page cache of an idle disk to one that cannot keep up.
const Histogram::BucketBoundaries kAckSeconds = {0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01,
                                                 0.02,   0.05,   0.1,    0.2,   0.5,   1,     5};
const Histogram::BucketBoundaries kIterations = {1,  2,  3,  5,   7,   10,  15,
                                                 20, 30, 50, 100, 200, 500, 1000};

// Around 1, where a prediction is right.
const Histogram::BucketBoundaries kRatios = {0.2,  0.5, 0.7, 0.8, 0.9, 0.95, 1,
                                             1.05, 1.1, 1.2, 1.3, 1.5, 2,    5};

prometheus::Labels ClassLabel(jobs::JobClass job_class) {
  return {{"class", std::string(jobs::Name(job_class))}};
}

prometheus::Labels EndLabels(jobs::JobState outcome, jobs::JobClass job_class) {
  return {{"outcome", std::string(jobs::Name(outcome))},
          {"class", std::string(jobs::Name(job_class))}};
}

prometheus::Labels ReasonLabel(const absl::Status& reason) {
  return {{"reason", absl::AsciiStrToLower(absl::StatusCodeToString(reason.code()))}};
}

prometheus::Labels KindLabel(jobs::WarningKind kind) {
  return {{"kind", std::string(jobs::Name(kind))}};
}

}  // namespace

struct Metrics::Impl {
  std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();
  prometheus::Family<Counter>& ended = prometheus::BuildCounter()
                                           .Name("isocenter_jobs_total")
                                           .Help("Jobs that have ended, by outcome and class.")
                                           .Register(*registry);
  prometheus::Family<Counter>& refused =
      prometheus::BuildCounter()
          .Name("isocenter_refused_total")
          .Help("Acquisitions that were refused before a job existed, by status code.")
          .Register(*registry);
  prometheus::Family<Counter>& refused_frames =
      prometheus::BuildCounter()
          .Name("isocenter_refused_frames_total")
          .Help(
              "Frames, and other messages of acquisitions under way, that were not taken: damaged "
              "(data_loss) or illegal.")
          .Register(*registry);
  prometheus::Family<Counter>& caller_refused =
      prometheus::BuildCounter()
          .Name("isocenter_caller_refused_total")
          .Help(
              "gRPC calls that were refused, and connections that were cut, because their caller "
              "took more than he may, by limit.")
          .Register(*registry);
  prometheus::Family<Counter>& token_refused =
      prometheus::BuildCounter()
          .Name("isocenter_token_refused_total")
          .Help("Tokens that were not taken, on gRPC and HTTP, by reason.")
          .Register(*registry);
  prometheus::Family<Counter>& dicom =
      prometheus::BuildCounter()
          .Name("isocenter_dicom_operations_total")
          .Help("Finished operations of the DICOM node, by kind and outcome.")
          .Register(*registry);
  prometheus::Family<Counter>& dicom_send =
      prometheus::BuildCounter()
          .Name("isocenter_dicom_send_total")
          .Help("Instances sent or failed for good, and attempts that were postponed.")
          .Register(*registry);
  prometheus::Family<Counter>& accepted = prometheus::BuildCounter()
                                              .Name("isocenter_accepted_jobs_total")
                                              .Help("Acquisitions that were admitted, by class.")
                                              .Register(*registry);
  prometheus::Family<Counter>& warnings =
      prometheus::BuildCounter()
          .Name("isocenter_warnings_total")
          .Help("What operators of X-ray systems were warned of, by kind.")
          .Register(*registry);
  prometheus::Family<Counter>& resumed =
      prometheus::BuildCounter()
          .Name("isocenter_jobs_resumed_total")
          .Help("Jobs that went on, by what had interrupted them.")
          .Register(*registry);
  prometheus::Family<Counter>& early_refinements =
      prometheus::BuildCounter()
          .Name("isocenter_early_refinements_total")
          .Help("Refinements that began while the arm turned, by what became of that work.")
          .Register(*registry);
  prometheus::Family<Counter>& device_lost = prometheus::BuildCounter()
                                                 .Name("isocenter_device_lost_total")
                                                 .Help("Devices that failed and were set aside.")
                                                 .Register(*registry);
  Counter& frames = prometheus::BuildCounter()
                        .Name("isocenter_received_frames_total")
                        .Help("Projection frames taken over.")
                        .Register(*registry)
                        .Add({});
  Counter& bytes = prometheus::BuildCounter()
                       .Name("isocenter_received_bytes_total")
                       .Help("Bytes of the pixels of the frames taken over.")
                       .Register(*registry)
                       .Add({});
  Histogram& frame_ack = prometheus::BuildHistogram()
                             .Name("isocenter_frame_ack_seconds")
                             .Help("Frame received to frame in the spool.")
                             .Register(*registry)
                             .Add({}, kAckSeconds);
  prometheus::Family<Histogram>& prediction_error =
      prometheus::BuildHistogram()
          .Name("isocenter_prediction_error_ratio")
          .Help("Actual by predicted computing time of a job; above 1 it took longer.")
          .Register(*registry);
  prometheus::Family<Counter>& voxel_updates =
      prometheus::BuildCounter()
          .Name("isocenter_device_voxel_updates_total")
          .Help("Voxel updates of completed volumes; refinements are not counted.")
          .Register(*registry);
  prometheus::Family<Counter>& busy_seconds =
      prometheus::BuildCounter()
          .Name("isocenter_device_busy_seconds_total")
          .Help("Time that a device computed for completed volumes; without refinements.")
          .Register(*registry);
  prometheus::Family<Counter>& refinements = prometheus::BuildCounter()
                                                 .Name("isocenter_refinements_total")
                                                 .Help("Refinements that have ended, by outcome.")
                                                 .Register(*registry);
  StationMetrics stations{*registry};
  prometheus::Family<Histogram>& stages =
      prometheus::BuildHistogram()
          .Name("isocenter_stage_duration_seconds")
          .Help("Time that a stage was at work for one completed job.")
          .Register(*registry);
  prometheus::Family<Histogram>& refinement_seconds =
      prometheus::BuildHistogram()
          .Name("isocenter_refinement_seconds")
          .Help("First iteration to refined volume in host memory, by algorithm.")
          .Register(*registry);
  prometheus::Family<Histogram>& refinement_iterations =
      prometheus::BuildHistogram()
          .Name("isocenter_refinement_iterations")
          .Help("Iterations of completed refinements, by algorithm.")
          .Register(*registry);
  Histogram& after_last_frame = prometheus::BuildHistogram()
                                    .Name("isocenter_after_last_frame_seconds")
                                    .Help("Last frame received to volume complete in host memory.")
                                    .Register(*registry)
                                    .Add({}, kSeconds);
  Histogram& kernel_gups =
      prometheus::BuildHistogram()
          .Name("isocenter_kernel_gups")
          .Help("Voxel updates in 1e9 per second of back-projection alone, per completed job.")
          .Register(*registry)
          .Add({}, kGups);
  Histogram& whole_gups =
      prometheus::BuildHistogram()
          .Name("isocenter_whole_gups")
          .Help("Voxel updates in 1e9 per second of all computing, per completed job.")
          .Register(*registry)
          .Add({}, kGups);
  prometheus::Family<Gauge>& recent =
      prometheus::BuildGauge()
          .Name("isocenter_recent_job_kernel_gups")
          .Help("Back-projection speed of the most recently completed jobs.")
          .Register(*registry);

  prometheus::Family<Gauge>& certificate_expiry =
      prometheus::BuildGauge()
          .Name("isocenter_certificate_expiry_seconds")
          .Help("Unix time at which a certificate in use ends, by its field in the configuration.")
          .Register(*registry);

  absl::Mutex mutex;
  std::deque<Gauge*> recent_jobs ABSL_GUARDED_BY(mutex);

  http::Response Answer(const http::Request& request) const;

  std::unique_ptr<Scrape> scrape;
  std::unique_ptr<http::HttpServer> server;  // last: it ends before what it asks
};

http::Response Metrics::Impl::Answer(const http::Request& request) const {
  if (request.path != "/metrics") {
    return http::ErrorAnswer(absl::NotFoundError(absl::StrCat("there is no ", request.path)));
  }
  std::vector<prometheus::MetricFamily> families = registry->Collect();
  for (prometheus::MetricFamily& family : scrape->Collect()) families.push_back(std::move(family));
  http::Response response{.body = prometheus::TextSerializer().Serialize(families)};
  response.Set("Content-Type", "text/plain; charset=utf-8");
  if (request.AcceptsGzip()) http::Compress(response);
  return response;
}

Metrics::Metrics(const BuildInfo& build) : impl_(std::make_unique<Impl>()) {
  prometheus::BuildGauge()
      .Name("isocenter_build_info")
      .Help("Always 1; the labels say what runs.")
      .Register(*impl_->registry)
      .Add({{"version", build.version}, {"backend", build.backend}})
      .Set(1);
  // Series exist from the start, so that rates over a first event are right.
  for (const jobs::JobState state :
       {jobs::JobState::kCompleted, jobs::JobState::kFailed, jobs::JobState::kCancelled}) {
    impl_->refinements.Add({{"outcome", std::string(jobs::Name(state))}});
  }
  for (const char* reason : {"resource_exhausted", "unavailable", "invalid_argument"}) {
    impl_->refused.Add({{"reason", reason}});
  }
  for (const char* reason : {"data_loss", "failed_precondition", "invalid_argument"}) {
    impl_->refused_frames.Add({{"reason", reason}});
  }
  for (const char* limit :
       {"acquisitions", "calls", "calls_per_second", "downloads", "quotes", "streams"}) {
    impl_->caller_refused.Add({{"limit", limit}});
  }
  for (const char* reason :
       {"algorithm", "audience", "expired", "issuer", "malformed", "no_keys", "no_role", "nonce",
        "not_yet_valid", "signature", "too_long", "unknown_key", "unknown_token"}) {
    impl_->token_refused.Add({{"reason", reason}});
  }
  for (const jobs::JobClass job_class : jobs::AllOf<jobs::JobClass>()) {
    impl_->accepted.Add(ClassLabel(job_class));
    for (const jobs::JobState state :
         {jobs::JobState::kCompleted, jobs::JobState::kFailed, jobs::JobState::kCancelled}) {
      impl_->ended.Add(EndLabels(state, job_class));
    }
  }
  for (const jobs::WarningKind kind : jobs::AllOf<jobs::WarningKind>()) {
    impl_->warnings.Add(KindLabel(kind));
  }
  for (const char* reason : {"console", "restart", "device"}) {
    impl_->resumed.Add({{"reason", reason}});
  }
  for (const char* outcome : {"used", "given_up"}) {
    impl_->early_refinements.Add({{"outcome", outcome}});
  }
}

Metrics::~Metrics() { Stop(); }

absl::Status Metrics::Serve(const std::string& address, Sources sources) {
  if (sources.devices_healthy) {
    for (const DeviceHealth& device : sources.devices_healthy()) {
      impl_->device_lost.Add({{"device", device.device}});
      impl_->voxel_updates.Add({{"device", device.device}});
      impl_->busy_seconds.Add({{"device", device.device}});
    }
  }
  impl_->scrape = std::make_unique<Scrape>(std::move(sources));
  auto server = http::HttpServer::Start(
      {.address = address, .threads = 1},
      [this](const http::Request& request) { return impl_->Answer(request); });
  if (!server.ok()) {
    return absl::UnavailableError(
        absl::StrCat("metrics_address is ", address, ", which ", server.status().message()));
  }
  impl_->server = *std::move(server);
  return absl::OkStatus();
}

int Metrics::port() const { return impl_->server == nullptr ? 0 : impl_->server->port(); }

void Metrics::Stop() { impl_->server.reset(); }

void Metrics::OnJobAccepted(const jobs::Job& job) {
  impl_->accepted.Add(ClassLabel(job.job_class)).Increment();
}

void Metrics::OnStateChanged(const jobs::Job&, jobs::JobState) {}

void Metrics::OnFrame(int64_t bytes) {
  impl_->frames.Increment();
  impl_->bytes.Increment(static_cast<double>(bytes));
}

void Metrics::OnJobEnded(const jobs::Job& job) {
  impl_->ended.Add(EndLabels(job.state, job.job_class)).Increment();
  if (jobs::IsRefinement(job)) {
    impl_->refinements.Add({{"outcome", std::string(jobs::Name(job.state))}}).Increment();
  }
  if (jobs::IsAcquisition(job)) impl_->stations.OnJobEnded(job);
  if (job.state != jobs::JobState::kCompleted) return;
  const jobs::JobResult& result = job.result;
  for (const auto& [stage, seconds] : {std::pair("upload", result.timings.upload),
                                       std::pair("preprocess", result.timings.preprocess),
                                       std::pair("filter", result.timings.filter),
                                       std::pair("backproject", result.timings.backproject),
                                       std::pair("hounsfield", result.timings.hounsfield),
                                       std::pair("download", result.timings.download),
                                       std::pair("export", result.timings.export_)}) {
    // A device that works in the host's memory has no uploads.
    if (seconds > 0) impl_->stages.Add({{"stage", stage}}, kSeconds).Observe(seconds);
  }
  if (jobs::IsRefinement(job)) {
    // From a set of a few names.
    const prometheus::Labels algorithm = {{"algorithm", job.refinement.algorithm}};
    impl_->refinement_seconds.Add(algorithm, kRefinementSeconds).Observe(result.timings.refine);
    if (!jobs::IsSecondPass(job)) {
      impl_->refinement_iterations.Add(algorithm, kIterations)
          .Observe(job.progress.iterations_done);
    }
  }
  // Nothing else waits for a last frame, or has a speed of back-projection.
  if (!jobs::IsAcquisition(job)) return;
  impl_->after_last_frame.Observe(result.seconds_after_last_frame);
  impl_->kernel_gups.Observe(result.kernel_gups);
  impl_->whole_gups.Observe(result.whole_gups);

  absl::MutexLock lock(&impl_->mutex);
  Gauge& gauge = impl_->recent.Add({{"job_id", job.id}});
  gauge.Set(result.kernel_gups);
  impl_->recent_jobs.push_back(&gauge);
  if (impl_->recent_jobs.size() > kRecentJobs) {
    impl_->recent.Remove(impl_->recent_jobs.front());
    impl_->recent_jobs.pop_front();
  }
}

void Metrics::OnRefused(const absl::Status& reason, const std::string&) {
  impl_->refused.Add(ReasonLabel(reason)).Increment();
}

void Metrics::OnFrameRefused(const absl::Status& reason) {
  impl_->refused_frames.Add(ReasonLabel(reason)).Increment();
}

void Metrics::OnFrameSpooled(double seconds) { impl_->frame_ack.Observe(seconds); }

void Metrics::OnWarning(jobs::WarningKind kind) {
  impl_->warnings.Add(KindLabel(kind)).Increment();
}

void Metrics::OnPrediction(const std::string& device, double predicted_seconds,
                           double actual_seconds) {
  if (!(predicted_seconds > 0)) return;  // nothing was predicted
  impl_->prediction_error.Add({{"device", device}}, kRatios)
      .Observe(actual_seconds / predicted_seconds);
}

void Metrics::OnComputed(const std::string& device, double voxel_updates, double busy_seconds) {
  impl_->voxel_updates.Add({{"device", device}}).Increment(voxel_updates);
  impl_->busy_seconds.Add({{"device", device}}).Increment(busy_seconds);
}

void Metrics::OnJobResumed(absl::string_view reason) {
  impl_->resumed.Add({{"reason", std::string(reason)}}).Increment();
}

void Metrics::OnEarlyRefinement(absl::string_view outcome) {
  impl_->early_refinements.Add({{"outcome", std::string(outcome)}}).Increment();
}

void Metrics::OnDeviceLost(const std::string& device) {
  impl_->device_lost.Add({{"device", device}}).Increment();
}

void Metrics::SetCertificateExpiry(const std::string& certificate, double unix_seconds) {
  impl_->certificate_expiry.Add({{"certificate", certificate}}).Set(unix_seconds);
}

void Metrics::OnDicomSend(const std::string& destination, absl::string_view event) {
  impl_->dicom_send.Add({{"destination", destination}, {"event", std::string(event)}}).Increment();
}

void Metrics::OnCallerRefused(absl::string_view limit) {
  impl_->caller_refused.Add({{"limit", std::string(limit)}}).Increment();
}

void Metrics::OnTokenRefused(absl::string_view reason) {
  impl_->token_refused.Add({{"reason", std::string(reason)}}).Increment();
}

void Metrics::OnDicomOperation(absl::string_view operation, absl::string_view outcome) {
  impl_->dicom.Add({{"operation", std::string(operation)}, {"outcome", std::string(outcome)}})
      .Increment();
}

}  // namespace isocenter::metrics
