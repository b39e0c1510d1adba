// Room that is kept for the index, so that jobs can be deleted from a disk that others have filled.
#pragma once

#include <cstdint>
#include <filesystem>

namespace isocenter::archive {

/// What the reserve of a directory takes when it is whole: 16 MiB, on a small disk a sixteenth of
/// it; 0 where the disk cannot be asked. Bytes.
uint64_t ReserveBytes(const std::filesystem::path& directory);

/// Takes what the reserve lacks from the disk, where four times as much is free; else leaves it as
/// it is. It is the file "reserve" of the directory, and holds nothing. Thread-safe.
void FillReserve(const std::filesystem::path& directory);

/// Gives a quarter of the reserve back to the disk; false: there was nothing left of it. In parts,
/// as others may take what was freed before it is used. Thread-safe.
bool ReleaseReserve(const std::filesystem::path& directory);

}  // namespace isocenter::archive
