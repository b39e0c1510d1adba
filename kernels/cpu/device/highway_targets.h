// The instruction sets that this backend is compiled for. Included before any header of Highway.
#pragma once

// SSSE3 alone is found in no machine that this is run on; each target costs compile time.
#define HWY_DISABLED_TARGETS HWY_SSSE3
