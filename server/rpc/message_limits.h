// How long messages may be: parsed, bytes of strangers grow to some 30 times their length. gRPC
// itself knows one limit for all methods, that of a frame.
#pragma once

#include <cstdint>

namespace isocenter::rpc {

/// A request that names a job, a filter, a page.
inline constexpr int64_t kLongestRequestBytes = 64 << 10;
/// One with a header, of which 10000 matrices take about 1 MiB.
inline constexpr int64_t kLongestHeaderBytes = 2 << 20;
inline constexpr int64_t kLongestFinishBytes = 4096;

}  // namespace isocenter::rpc
