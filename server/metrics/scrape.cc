#include "server/metrics/scrape.h"

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

namespace isocenter::metrics {
namespace {

using Labels = std::vector<prometheus::ClientMetric::Label>;

prometheus::MetricFamily GaugeFamily(const char* name, const char* help) {
  prometheus::MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = prometheus::MetricType::Gauge;
  return family;
}

void AddSample(prometheus::MetricFamily& family, Labels labels, double value) {
  prometheus::ClientMetric& sample = family.metric.emplace_back();
  sample.label = std::move(labels);
  sample.gauge.value = value;
}

prometheus::MetricFamily DiskFamily(const std::vector<DiskSpace>& disks) {
  prometheus::MetricFamily family =
      GaugeFamily("isocenter_disk_bytes",
                  "File system of a directory: its size, what may be written, and what of this is "
                  "promised to results that are not stored yet.");
  for (const DiskSpace& disk : disks) {
    for (const auto& [kind, bytes] :
         {std::pair("size", disk.size_bytes), std::pair("free", disk.free_bytes),
          std::pair("promised", disk.promised_bytes)}) {
      AddSample(family, {{"directory", disk.directory}, {"kind", kind}},
                static_cast<double>(bytes));
    }
  }
  return family;
}

/// Prometheus' usual name for it.
prometheus::MetricFamily StartTimeFamily(double unix_seconds) {
  prometheus::MetricFamily family = GaugeFamily(
      "process_start_time_seconds", "When the service started, in seconds since 1970, UTC.");
  AddSample(family, {}, unix_seconds);
  return family;
}

/// Prometheus' usual name for it.
prometheus::MetricFamily ProcessorTimeFamily() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  prometheus::MetricFamily family;
  family.name = "process_cpu_seconds_total";
  family.help = "Processor time of this process, user and system.";
  family.type = prometheus::MetricType::Counter;
  family.metric.emplace_back().counter.value = seconds(used.ru_utime) + seconds(used.ru_stime);
  return family;
}

prometheus::MetricFamily JobFamily(const jobs::JobCounts& counts) {
  prometheus::MetricFamily family =
      GaugeFamily("isocenter_jobs", "Jobs that the service knows, by state and class.");
  for (int state = 0; state <= static_cast<int>(jobs::JobState::kCancelled); ++state) {
    for (int job_class = 0; job_class <= static_cast<int>(jobs::JobClass::kBatch); ++job_class) {
      const std::pair key(static_cast<jobs::JobState>(state),
                          static_cast<jobs::JobClass>(job_class));
      const auto found = counts.find(key);
      AddSample(family,
                {{"state", std::string(jobs::Name(key.first))},
                 {"class", std::string(jobs::Name(key.second))}},
                found == counts.end() ? 0 : found->second);
    }
  }
  return family;
}

prometheus::MetricFamily MemoryFamily(const std::vector<DeviceMemory>& devices) {
  prometheus::MetricFamily family = GaugeFamily(
      "isocenter_device_memory_bytes", "Memory that jobs may take and have been promised.");
  for (const DeviceMemory& device : devices) {
    AddSample(family, {{"device", device.device}, {"kind", "limit"}},
              static_cast<double>(device.limit));
    AddSample(family, {{"device", device.device}, {"kind", "used"}},
              static_cast<double>(device.used));
  }
  return family;
}

prometheus::MetricFamily HealthFamily(const std::vector<DeviceHealth>& devices) {
  prometheus::MetricFamily family =
      GaugeFamily("isocenter_device_healthy", "1: the device computes; 0: it failed.");
  for (const DeviceHealth& device : devices) {
    AddSample(family, {{"device", device.device}}, device.healthy ? 1 : 0);
  }
  return family;
}

prometheus::MetricFamily GpuFamily(const std::vector<DeviceHealth>& devices) {
  prometheus::MetricFamily family =
      GaugeFamily("isocenter_device_gpus", "GPUs that a device consists of; 0: it is the CPU.");
  for (const DeviceHealth& device : devices) {
    AddSample(family, {{"device", device.device}}, device.gpus);
  }
  return family;
}

prometheus::MetricFamily SpoolSpaceFamily(const SpoolState& spool) {
  prometheus::MetricFamily family =
      GaugeFamily("isocenter_spool_bytes", "Disk space of the frame spool.");
  for (const auto& [kind, bytes] :
       {std::pair("capacity", spool.capacity_bytes), std::pair("used", spool.used_bytes),
        std::pair("reclaimable", spool.reclaimable_bytes)}) {
    AddSample(family, {{"kind", kind}}, static_cast<double>(bytes));
  }
  return family;
}

prometheus::MetricFamily TraceFamily(const TraceSpans& spans) {
  prometheus::MetricFamily family{
      .name = "isocenter_trace_spans_total",
      .help = "Spans of jobs' traces, by whether the collector took them.",
      .type = prometheus::MetricType::Counter};
  for (const auto& [outcome, count] :
       {std::pair("exported", spans.exported), std::pair("dropped", spans.dropped)}) {
    prometheus::ClientMetric& sample = family.metric.emplace_back();
    sample.label = {{"outcome", outcome}};
    sample.counter.value = static_cast<double>(count);
  }
  return family;
}

void AddSharedIndex(const SharedIndexState& index,
                    std::vector<prometheus::MetricFamily>& families) {
  families.push_back(
      GaugeFamily("isocenter_shared_index_up",
                  "1: the index that nodes share takes what this node has, and answers for all."));
  AddSample(families.back(), {}, index.is_up ? 1 : 0);
  families.push_back(GaugeFamily("isocenter_shared_index_waiting",
                                 "Jobs whose result the shared index does not know as it is."));
  AddSample(families.back(), {}, static_cast<double>(index.waiting_jobs));
}

void AddReplication(const ReplicationState& replication,
                    std::vector<prometheus::MetricFamily>& families) {
  prometheus::MetricFamily jobs = GaugeFamily(
      "isocenter_replicated_jobs",
      "Jobs whose frames go to a second node: it has them all, or some are on this disk alone.");
  AddSample(jobs, {{"state", "kept"}}, replication.jobs);
  AddSample(jobs, {{"state", "degraded"}}, replication.degraded);
  families.push_back(std::move(jobs));
  families.push_back(
      GaugeFamily("isocenter_replicas", "Copies of other nodes' jobs that this node keeps."));
  AddSample(families.back(), {}, replication.kept);
  prometheus::MetricFamily bytes =
      GaugeFamily("isocenter_replica_bytes", "What these copies take, and may take, of the disk.");
  AddSample(bytes, {{"kind", "used"}}, static_cast<double>(replication.kept_bytes));
  AddSample(bytes, {{"kind", "capacity"}}, static_cast<double>(replication.capacity_bytes));
  families.push_back(std::move(bytes));
  prometheus::MetricFamily taken;
  taken.name = "isocenter_taken_over_jobs_total";
  taken.help = "Jobs of lost nodes that went on here.";
  taken.type = prometheus::MetricType::Counter;
  taken.metric.emplace_back().counter.value = static_cast<double>(replication.taken_over);
  families.push_back(std::move(taken));
  families.push_back(GaugeFamily("isocenter_orphaned_replicas",
                                 "Copies whose node is lost, and that were not taken over yet."));
  AddSample(families.back(), {}, replication.orphans);
  if (!replication.keeper_reached) return;
  families.push_back(GaugeFamily("isocenter_keeper_reached",
                                 "1: the node that keeps copies of this one's frames answers."));
  AddSample(families.back(), {}, *replication.keeper_reached ? 1 : 0);
}

void AddAuditFile(const AuditFileState& audit, std::vector<prometheus::MetricFamily>& families) {
  prometheus::MetricFamily bytes = GaugeFamily(
      "isocenter_audit_bytes", "Files of the audit trail: what they take, and what they may take.");
  AddSample(bytes, {{"kind", "used"}}, static_cast<double>(audit.used_bytes));
  AddSample(bytes, {{"kind", "limit"}}, static_cast<double>(audit.limit_bytes));
  families.push_back(std::move(bytes));
  families.push_back(GaugeFamily("isocenter_audit_writable",
                                 "1: the audit file takes records; 0: it did not take the last."));
  AddSample(families.back(), {}, audit.is_writable ? 1 : 0);
  prometheus::MetricFamily& lost = families.emplace_back();
  lost.name = "isocenter_audit_records_lost_total";
  lost.help = "Audit records that are in no file.";
  lost.type = prometheus::MetricType::Counter;
  lost.metric.emplace_back().counter.value = static_cast<double>(audit.records_lost);
}

void AddSendQueues(const std::vector<SendQueue>& queues,
                   std::vector<prometheus::MetricFamily>& families) {
  prometheus::MetricFamily instances = GaugeFamily(
      "isocenter_dicom_queue", "Instances for each DICOM destination, by how far they have come.");
  prometheus::MetricFamily oldest =
      GaugeFamily("isocenter_dicom_queue_oldest_seconds",
                  "Age of the oldest instance that a destination has not confirmed; 0: none.");
  for (const SendQueue& queue : queues) {
    for (const auto& [state, count] : queue.instances) {
      AddSample(instances, {{"destination", queue.destination}, {"state", state}},
                static_cast<double>(count));
    }
    AddSample(oldest, {{"destination", queue.destination}}, queue.oldest_seconds);
  }
  families.push_back(std::move(instances));
  families.push_back(std::move(oldest));
}

void AddProcedureSteps(const ProcedureSteps& state,
                       std::vector<prometheus::MetricFamily>& families) {
  prometheus::MetricFamily steps =
      GaugeFamily("isocenter_procedure_steps",
                  "Performed procedure steps that are not reported completely, by state.");
  for (const auto& [name, count] : state.steps) {
    AddSample(steps, {{"state", name}}, static_cast<double>(count));
  }
  families.push_back(std::move(steps));
  families.push_back(GaugeFamily("isocenter_procedure_steps_oldest_seconds",
                                 "Since the oldest step began of which a message waits; 0: none."));
  AddSample(families.back(), {}, state.oldest_seconds);
}

void AddQuality(const std::vector<QualityTest>& tests,
                std::vector<prometheus::MetricFamily>& families) {
  prometheus::MetricFamily values =
      GaugeFamily("isocenter_quality_value",
                  "Image quality as last measured, by room, protocol and measure (docs/qa.md).");
  prometheus::MetricFamily deviations = GaugeFamily(
      "isocenter_quality_deviation",
      "How far it is from its baseline, in units of the tolerance; infinite: not measured.");
  prometheus::MetricFamily times =
      GaugeFamily("isocenter_quality_test_time_seconds",
                  "When image quality was last recorded, in seconds since 1970, UTC.");
  for (const QualityTest& test : tests) {
    const Labels series = {{"station", test.station}, {"protocol", test.protocol}};
    AddSample(times, series, test.unix_seconds);
    for (const QualityTest::Figure& figure : test.figures) {
      Labels labels = series;
      labels.push_back({"measure", figure.measure});
      if (!figure.deviation || std::isfinite(*figure.deviation)) {
        AddSample(values, labels, figure.value);
      }
      if (figure.deviation) AddSample(deviations, labels, *figure.deviation);
    }
  }
  families.push_back(std::move(values));
  families.push_back(std::move(deviations));
  families.push_back(std::move(times));
}

void AddReadiness(const Readiness& readiness, std::vector<prometheus::MetricFamily>& families) {
  families.push_back(GaugeFamily("isocenter_ready", "1: acquisitions are taken, as /readyz says."));
  AddSample(families.back(), {}, readiness.not_ready.empty() ? 1 : 0);
  prometheus::MetricFamily family = GaugeFamily(
      "isocenter_not_ready", "1: acquisitions are not taken because of this component.");
  // Those of node::Reason; all are there, so that an end of one shows.
  for (const char* component : {"admission", "archive", "devices", "service", "spool"}) {
    AddSample(family, {{"component", component}},
              std::ranges::count(readiness.not_ready, component) > 0 ? 1 : 0);
  }
  families.push_back(std::move(family));
  families.push_back(GaugeFamily("isocenter_drained",
                                 "1: an operator has drained this node, and not resumed it."));
  AddSample(families.back(), {}, readiness.is_drained ? 1 : 0);
}

/// Prometheus' usual name for it. 0 where the system does not say.
prometheus::MetricFamily ResidentMemoryFamily() {
  prometheus::MetricFamily family =
      GaugeFamily("process_resident_memory_bytes", "Memory of this process that is in RAM.");
  int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  AddSample(family, {}, static_cast<double>(resident * sysconf(_SC_PAGESIZE)));
  return family;
}

}  // namespace

std::vector<prometheus::MetricFamily> Scrape::Collect() const {
  std::vector<prometheus::MetricFamily> families = {ResidentMemoryFamily(), ProcessorTimeFamily(),
                                                    StartTimeFamily(start_unix_seconds_)};
  if (sources_.readiness) AddReadiness(sources_.readiness(), families);
  if (sources_.jobs) families.push_back(JobFamily(sources_.jobs()));
  if (sources_.max_active_jobs > 0) {
    families.push_back(GaugeFamily("isocenter_max_active_jobs", "Acquisitions admitted at once."));
    AddSample(families.back(), {}, sources_.max_active_jobs);
  }
  if (sources_.disks) families.push_back(DiskFamily(sources_.disks()));
  if (sources_.jobs_waiting_for_room) {
    families.push_back(
        GaugeFamily("isocenter_jobs_waiting_for_room",
                    "Jobs whose volume is complete, and finds no room in the archive."));
    AddSample(families.back(), {}, sources_.jobs_waiting_for_room());
  }
  if (sources_.damaged_job_records) {
    families.push_back(GaugeFamily("isocenter_damaged_job_records",
                                   "Records of jobs that cannot be read and were set aside."));
    AddSample(families.back(), {}, sources_.damaged_job_records());
  }
  if (sources_.provider_keys_unix_seconds) {
    families.push_back(GaugeFamily("isocenter_provider_keys_timestamp_seconds",
                                   "When the identity provider's keys were fetched last, in "
                                   "seconds since 1970, UTC; 0: never."));
    AddSample(families.back(), {}, sources_.provider_keys_unix_seconds());
  }
  families.push_back(GaugeFamily("isocenter_clock_seconds",
                                 "This machine's clock when it was asked, in seconds since 1970, "
                                 "UTC."));
  AddSample(families.back(), {}, absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
  if (sources_.tokens_are_right) {
    families.push_back(GaugeFamily("isocenter_tokens_file_ok",
                                   "1: all that the file of tokens says counts; 0: it is not "
                                   "there, cannot be read, or has lines that are wrong."));
    AddSample(families.back(), {}, sources_.tokens_are_right() ? 1 : 0);
  }
  if (sources_.queue_depth) {
    families.push_back(GaugeFamily("isocenter_queue_depth", "Chunks that wait for a device."));
    AddSample(families.back(), {}, static_cast<double>(sources_.queue_depth()));
  }
  if (sources_.device_memory) families.push_back(MemoryFamily(sources_.device_memory()));
  if (sources_.devices_healthy) {
    const std::vector<DeviceHealth> devices = sources_.devices_healthy();
    families.push_back(HealthFamily(devices));
    families.push_back(GpuFamily(devices));
    families.push_back(GaugeFamily("isocenter_no_device_time_seconds",
                                   "When the service last ended because no device was left, in "
                                   "seconds since 1970, UTC; 0: never."));
    AddSample(families.back(), {}, sources_.no_device_unix_seconds);
  }
  if (sources_.spool) {
    const SpoolState spool = sources_.spool();
    families.push_back(SpoolSpaceFamily(spool));
    families.push_back(GaugeFamily("isocenter_spool_last_sync_seconds",
                                   "How long the last sync of the frame spool took."));
    AddSample(families.back(), {}, spool.last_sync_seconds);
  }
  if (sources_.audit_file) AddAuditFile(sources_.audit_file(), families);
  if (sources_.audit_waiting) {
    families.push_back(GaugeFamily("isocenter_audit_waiting_records",
                                   "Audit records that the syslog repository has not got yet."));
    AddSample(families.back(), {}, static_cast<double>(sources_.audit_waiting()));
  }
  if (sources_.trace_spans) families.push_back(TraceFamily(sources_.trace_spans()));
  if (sources_.shared_index) AddSharedIndex(sources_.shared_index(), families);
  if (sources_.replication) AddReplication(sources_.replication(), families);
  if (sources_.send_queues) AddSendQueues(sources_.send_queues(), families);
  if (sources_.quality) AddQuality(sources_.quality(), families);
  if (sources_.procedure_steps) AddProcedureSteps(sources_.procedure_steps(), families);
  return families;
}

}  // namespace isocenter::metrics
