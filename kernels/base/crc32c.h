// Checksum of frames and records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace isocenter {

/// CRC-32C (Castagnoli, reflected, as in iSCSI, RFC 3720): "123456789" gives 0xE3069283.
uint32_t Crc32c(std::span<const std::byte> data);

/// The checksum of some bytes, whose own is `crc`, followed by `data`. No bytes at all have 0.
uint32_t ExtendCrc32c(uint32_t crc, std::span<const std::byte> data);

/// The checksum of zip, Ethernet and PNG (IEEE 802.3, reflected): "123456789" gives 0xCBF43926. For
/// who takes it for the other. Of some bytes, whose own is `crc`, followed by `data`.
uint32_t ExtendCrc32(uint32_t crc, std::span<const std::byte> data);

}  // namespace isocenter
