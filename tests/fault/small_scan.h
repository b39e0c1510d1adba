// The acquisition that the fault tests stream, and its volume.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/channel.h"
#include "isocenter/v1/acquisition.pb.h"

namespace isocenter::testing {

inline constexpr int kScanFrames = 80;
inline constexpr int kScanColumns = 160, kScanRows = 120;
inline constexpr int kScanSize = 64;  // voxels along each axis
inline constexpr int64_t kScanFrameBytes = int64_t{kScanColumns} * kScanRows * 2;

/// Counts of 16 bits on a circle, onto 64³ voxels: some 3 MB that take a fraction of a second. Not
/// two of its frames are alike, so that none can be taken for another unnoticed.
v1::AcquisitionHeader ScanHeader(const std::string& request_id);
std::span<const std::byte> ScanFrame(int index);

/// Several times the computing of ScanHeader, with the same frames: a grid of `size` voxels.
v1::AcquisitionHeader ScanHeader(const std::string& request_id, int size);

/// A connection of its own: none that was made to a server that has ended since.
client::ServiceChannel ChannelTo(int port);
/// The stored voxels. Errors: JobClient.DownloadVolume's.
absl::StatusOr<std::vector<float>> VolumeOf(const client::ServiceChannel& channel,
                                            const std::string& job_id);
/// Equal in every bit.
bool SameBits(const std::vector<float>& a, const std::vector<float>& b);

/// Streams everything and waits for the result; the job's id.
absl::StatusOr<std::string> StreamScan(const client::ServiceChannel& channel,
                                       const v1::AcquisitionHeader& header);

/// What an undisturbed server makes of the scan. Computed once per process, by a server of its own.
const std::vector<float>& UndisturbedVolume();

}  // namespace isocenter::testing
