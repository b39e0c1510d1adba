#include "kernels/cuda/device/reservation.h"

#include "absl/strings/str_cat.h"
#include "kernels/base/bytes_text.h"

namespace isocenter::cuda {

absl::StatusOr<Reservation> Reservation::Take(Memory memory, int64_t bytes,
                                              absl::string_view what) {
  const int64_t limit = memory->bytes, before = memory->used.fetch_add(bytes);
  Reservation reservation(std::move(memory), bytes);
  if (before > limit - bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(what, " needs ", BytesText(bytes), "; ", BytesText(before),
                     " are in use of the device's limit of ", BytesText(limit)));
  }
  return reservation;
}

}  // namespace isocenter::cuda
