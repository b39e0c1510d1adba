#include "tests/fault/small_scan.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/acquisition_stream.h"
#include "client/job_client.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "kernels/base/status_macros.h"
#include "tests/fault/daemon.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::testing {
namespace {

constexpr double kI0 = 60000;
using Frames = std::array<std::vector<uint16_t>, kScanFrames>;

Frames MakeFrames() {
  Frames frames;
  for (int view = 0; view < kScanFrames; ++view) {
    for (int v = 0; v < kScanRows; ++v) {
      for (int u = 0; u < kScanColumns; ++u) {
        const double x = (u - 0.5 * kScanColumns) / kScanColumns + 0.05 * std::sin(0.3 * view);
        const double y = (v - 0.5 * kScanRows) / kScanRows;
        const double line = 3 * std::exp(-20 * (x * x + y * y)) * (1 + 0.001 * view);
        frames[view].push_back(static_cast<uint16_t>(std::lround(kI0 * std::exp(-line))));
      }
    }
  }
  return frames;
}

class VoxelSink : public client::VolumeSink {
 public:
  absl::Status OnGrid(const VolumeGrid&) override { return absl::OkStatus(); }
  absl::Status OnVoxels(std::span<const float> voxels) override {
    voxels_.insert(voxels_.end(), voxels.begin(), voxels.end());
    return absl::OkStatus();
  }
  std::vector<float> Take() { return std::move(voxels_); }

 private:
  std::vector<float> voxels_;
};

absl::StatusOr<std::vector<float>> ComputeUndisturbed() {
  const TemporaryDirectory directory;
  const Daemon daemon(directory.path().string());
  const client::ServiceChannel channel = ChannelTo(daemon.grpc_port());
  ISO_ASSIGN_OR_RETURN(const std::string job, StreamScan(channel, ScanHeader("")));
  return VolumeOf(channel, job);
}

}  // namespace

v1::AcquisitionHeader ScanHeader(const std::string& request_id, int size) {
  v1::AcquisitionHeader header;
  header.mutable_patient_study()->set_patient_id("FAULT");
  header.set_protocol("fdk");
  header.set_station_name("fault-test");
  header.set_request_id(request_id);
  v1::DetectorGeometry& detector = *header.mutable_detector();
  detector.set_columns(kScanColumns);
  detector.set_rows(kScanRows);
  detector.set_pitch_u_mm(2);
  detector.set_pitch_v_mm(2);
  header.set_pixel_type(v1::PIXEL_TYPE_UINT16_COUNTS);
  header.set_i0_counts(kI0);
  header.set_frame_count(kScanFrames);
  v1::CircularTrajectory& circle = *header.mutable_circular();
  circle.set_source_to_isocenter_mm(750);
  circle.set_source_to_detector_mm(1200);
  circle.set_arc_deg(360. * (kScanFrames - 1) / kScanFrames);
  v1::VolumeGrid& grid = *header.mutable_grid();
  grid.set_nx(size);
  grid.set_ny(size);
  grid.set_nz(size);
  for (const auto set : {&v1::VolumeGrid::set_spacing_x_mm, &v1::VolumeGrid::set_spacing_y_mm,
                         &v1::VolumeGrid::set_spacing_z_mm}) {
    (grid.*set)(128. / size);
  }
  grid.set_centered(true);
  return header;
}

v1::AcquisitionHeader ScanHeader(const std::string& request_id) {
  return ScanHeader(request_id, kScanSize);
}

std::span<const std::byte> ScanFrame(int index) {
  static const Frames& frames = *new Frames(MakeFrames());
  return std::as_bytes(std::span(frames[index]));
}

client::ServiceChannel ChannelTo(int port) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return client::ServiceChannel(grpc::CreateCustomChannel(
      absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials(), arguments));
}

absl::StatusOr<std::vector<float>> VolumeOf(const client::ServiceChannel& channel,
                                            const std::string& job_id) {
  VoxelSink sink;
  ISO_RETURN_IF_ERROR(client::JobClient(channel).DownloadVolume(job_id, sink));
  return sink.Take();
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && !a.empty() &&
         std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

absl::StatusOr<std::string> StreamScan(const client::ServiceChannel& channel,
                                       const v1::AcquisitionHeader& header) {
  ISO_ASSIGN_OR_RETURN(const auto stream, client::AcquisitionStream::Open(channel, header));
  for (int i = 0; i < kScanFrames; ++i) ISO_RETURN_IF_ERROR(stream->SendFrame(i, ScanFrame(i)));
  ISO_ASSIGN_OR_RETURN(const v1::JobResult result, stream->Finish());
  return result.job_id();
}

const std::vector<float>& UndisturbedVolume() {
  static const std::vector<float>& volume = *new std::vector<float>([] {
    absl::StatusOr<std::vector<float>> computed = ComputeUndisturbed();
    if (!computed.ok()) std::fprintf(stderr, "%s\n", computed.status().ToString().c_str());
    return computed.ok() ? *std::move(computed) : std::vector<float>();
  }());
  return volume;
}

}  // namespace isocenter::testing
