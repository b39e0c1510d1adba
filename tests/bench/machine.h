// What a measurement was made on.
#pragma once

#include <string>

namespace isocenter::bench {

std::string Processor();
/// Of the sources, as git described them when the build was configured.
std::string Commit();

/// Bytes read plus bytes written per second, in 1e9, by `threads` threads that copy arrays larger
/// than the caches; the best of several.
double CopyBandwidth(int threads);

}  // namespace isocenter::bench
