// A scanner console: sends an acquisition to the service while it is exposed, waits for the volume.
#include <google/protobuf/text_format.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "client/acquisition_stream.h"

namespace client = isocenter::client;
namespace v1 = isocenter::v1;

// What is known before the first exposure; proto/isocenter/v1/acquisition.proto explains each.
constexpr char kHeader[] = R"(
  patient_study { patient_id: "EXAMPLE" patient_name: "Water^Ball" }
  detector { columns: 155 rows: 120 pitch_u_mm: 2.464 pitch_v_mm: 2.464 }
  station_name: "EXAMPLE" pixel_type: PIXEL_TYPE_UINT16_COUNTS i0_counts: 60000 frame_count: 200
  circular { source_to_isocenter_mm: 750 source_to_detector_mm: 1200 arc_deg: 220 })";

// What the detector reads of a ball of water, 80 mm in radius, in the isocentre.
std::vector<uint16_t> Expose() {
  std::vector<uint16_t> counts;
  for (int pixel = 0; pixel < 155 * 120; ++pixel) {
    const double u = (pixel % 155 - 77) * 2.464, v = (pixel / 155 - 59.5) * 2.464;
    const double beside = 750 * std::hypot(u, v) / std::hypot(1200, u, v);
    const double water_mm = beside < 80 ? 2 * std::sqrt(80 * 80 - beside * beside) : 0;
    counts.push_back(static_cast<uint16_t>(60000 * std::exp(-0.02 * water_mm)));
  }
  return counts;
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "console: %s\n", std::string(status.message()).c_str());
  return 1;
}

int main(int argc, char** argv) {
  v1::AcquisitionHeader header;
  if (!google::protobuf::TextFormat::ParseFromString(kHeader, &header)) return 2;
  const auto channel =
      client::ServiceChannel::Open({.address = argc > 1 ? argv[1] : "127.0.0.1:50051"});
  if (!channel.ok()) return Fail(channel.status());
  client::AcquisitionStreamOptions options;
  options.on_warning = [](const v1::JobWarning& warning) { std::puts(warning.text().c_str()); };
  auto stream = client::AcquisitionStream::Open(*channel, header, options);
  if (!stream.ok()) return Fail(stream.status());  // nothing was exposed
  std::printf("job %s\n", (*stream)->accepted().job_id().c_str());
  for (uint32_t frame = 0; frame < header.frame_count(); ++frame) {
    const std::vector<uint16_t> counts = Expose();
    const auto sent = (*stream)->SendFrame(frame, std::as_bytes(std::span(counts)));
    if (!sent.ok()) return Fail(sent);
  }
  const auto result = (*stream)->Finish();
  if (!result.ok()) return Fail(result.status());
  std::printf("%u slices in %.1f s\n", result->grid().nz(), result->seconds_after_last_frame());
}
