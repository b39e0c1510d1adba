// What a copy of another node's frames says of itself.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace isocenter::replicas {

inline constexpr int kMostFrames = 10000;
inline constexpr size_t kMostAcquisitionBytes = 4 << 20;
inline constexpr size_t kMostBegunByBytes = 1024;

/// A node, and which of its disks: one that comes back empty is another origin.
struct Origin {
  std::string node;
  std::string spool_id;  // 32 lower-case hexadecimal digits
  auto operator<=>(const Origin&) const = default;
};

/// What a copy begins with.
struct ReplicaHeader {
  Origin origin;
  std::string job_id;
  std::string begun_by;     // as jobs::Job::begun_by
  std::string acquisition;  // as the origin's JobSpool::acquisition
  int64_t frames = 0;
  int64_t frame_bytes = 0;
};

/// Errors: INVALID_ARGUMENT, naming the value and what is legal.
absl::Status CheckOrigin(const Origin& origin);
/// Everything but how many bytes a frame may have at most, which is the keeper's matter. Errors: as
/// CheckOrigin.
absl::Status CheckHeader(const ReplicaHeader& header);

/// What a copy's file has in the place of a spool file's acquisition.
struct Record {
  Origin origin;
  std::string begun_by;
  std::string acquisition;
};
std::string EncodeRecord(const Record& record);
/// Errors: DATA_LOSS.
absl::StatusOr<Record> DecodeRecord(const std::string& bytes);

}  // namespace isocenter::replicas
