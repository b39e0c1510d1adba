// The module itself: the border between the runner's C interface and BenchmarkRun. Statuses become
// messages and false; nothing is thrown across.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "absl/base/const_init.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "kernels/base/status_macros.h"
#include "kernels/rabbitct/benchmark_run.h"
#include "kernels/rabbitct/rabbitct.h"

namespace isocenter::rabbitct {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

constexpr char kDeviceMemory[] = "ISOCENTER_RABBITCT_DEVICE_MEMORY_MIB";

// 0 where nothing is asked for.
absl::StatusOr<int64_t> DeviceMemory() {
  constexpr int64_t kMost = int64_t{1} << 24;  // 16 TiB
  const std::string text = FromEnvironment(kDeviceMemory);
  int64_t mebibytes = 0;
  if (text.empty()) return 0;
  if (!absl::SimpleAtoi(text, &mebibytes) || mebibytes < 1 || mebibytes > kMost) {
    return absl::InvalidArgumentError(
        absl::StrCat(kDeviceMemory, " is \"", text, "\"; legal is 1 to ", kMost));
  }
  return mebibytes << 20;
}

// What the runner's calls share; the interface has no place for a module's own pointer.
struct Session {
  std::unique_ptr<BenchmarkRun> run;
  float* volume = nullptr;     // behind f_L, the run's; null where the runner brought its own
  unsigned edge = 0;           // L when it was opened
  double seconds = 0;          // inside RCTAlgorithmBackprojection
  double between = 0;          // between its calls, while the device may have been at work
  Clock::time_point returned;  // from the last one
};

ABSL_CONST_INIT absl::Mutex mutex(absl::kConstInit);
Session* session ABSL_GUARDED_BY(mutex) = nullptr;

size_t Voxels(unsigned edge) { return size_t{edge} * edge * edge; }

absl::Status Open(RabbitCtGlobalData& data) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
  // Load after Prepare: everything is there.
  if (session != nullptr && session->run != nullptr && session->run->projections() == 0) {
    return absl::OkStatus();
  }
  if (session != nullptr && data.f_L == session->volume) data.f_L = nullptr;
  delete std::exchange(session, nullptr);

  auto fresh = std::make_unique<Session>();
  ISO_ASSIGN_OR_RETURN(const int64_t device_memory, DeviceMemory());
  ISO_ASSIGN_OR_RETURN(
      fresh->run, BenchmarkRun::Create({.voxels_per_edge = data.L,
                                        .columns = data.S_x,
                                        .rows = data.S_y,
                                        .voxel_mm = data.R_L,
                                        .first_voxel_mm = data.O_L,
                                        .backend = FromEnvironment("ISOCENTER_RABBITCT_BACKEND"),
                                        .method = FromEnvironment("ISOCENTER_RABBITCT_METHOD"),
                                        .images_at_once = data.adv_numProjBuffers,
                                        .device_memory_bytes = device_memory}));
  if (data.f_L == nullptr) {
    ISO_ASSIGN_OR_RETURN(const std::span<float> result, fresh->run->Result());
    // Its memory may have been another's.
    std::fill(result.begin(), result.end(), 0.0f);
    data.f_L = fresh->volume = result.data();
  }
  fresh->edge = data.L;
  std::printf("isocenter: %s\n", fresh->run->description().c_str());
  session = fresh.release();
  return absl::OkStatus();
}

// A runner whose module fails to load frees its image buffers all the same, without looking whether
// it ever allocated them, and dies of that. Empty ones let it end with the module's message.
void GiveBuffersToFree(RabbitCtGlobalData& data) {
  if (data.adv_pProjBuffers != nullptr || data.adv_numProjBuffers == 0) return;
  std::unique_ptr<float*[]> buffers(new (std::nothrow) float*[data.adv_numProjBuffers]());
  if (buffers == nullptr) return;
  buffers[0] = new (std::nothrow) float[1];
  data.adv_pProjBuffers = buffers.release();
}

// Buffers that the runner reads its files into, from which the device copies at full speed. Not
// before RCTLoadAlgorithm has succeeded: after a failure the runner takes them for its own and
// frees them.
void GiveImageBuffers(RabbitCtGlobalData& data) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
  const std::span<float*> buffers = session->run->image_buffers();
  if (data.adv_pProjBuffers == nullptr && !buffers.empty()) data.adv_pProjBuffers = buffers.data();
}

absl::Status Prepare(RabbitCtGlobalData& data) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
  absl::Status status = Open(data);
  if (!status.ok()) GiveBuffersToFree(data);
  return status;
}

absl::Status Load(RabbitCtGlobalData& data) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
  ISO_RETURN_IF_ERROR(Prepare(data));
  GiveImageBuffers(data);
  return absl::OkStatus();
}

absl::StatusOr<Session*> Opened() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
  if (session == nullptr || session->run == nullptr) {
    return absl::FailedPreconditionError("called before RCTLoadAlgorithm");
  }
  return session;
}

absl::Status Backproject(RabbitCtGlobalData& data) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
  const Clock::time_point start = Clock::now();
  ISO_ASSIGN_OR_RETURN(Session * own, Opened());
  if (data.A_n == nullptr) return absl::InvalidArgumentError("A_n is null");
  if (data.I_n == nullptr) return absl::InvalidArgumentError("I_n is null");
  if (own->run->busy())
    own->between += std::chrono::duration<double>(start - own->returned).count();
  ISO_RETURN_IF_ERROR(own->run->Add(std::span<const double, 12>(data.A_n, 12),
                                    {data.I_n, size_t{data.S_x} * data.S_y}));
  own->returned = Clock::now();
  own->seconds += std::chrono::duration<double>(own->returned - start).count();
  return absl::OkStatus();
}

absl::Status Finish(RabbitCtGlobalData& data) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
  const Clock::time_point start = Clock::now();
  ISO_ASSIGN_OR_RETURN(Session * own, Opened());
  if (data.f_L == nullptr) return absl::InvalidArgumentError("f_L is null");
  if (data.L != own->edge) {
    return absl::InvalidArgumentError(
        absl::StrCat("L is ", data.L, "; it was ", own->edge, " before the first projection"));
  }
  ISO_RETURN_IF_ERROR(own->run->Finish({data.f_L, Voxels(own->edge)}));
  const double updates = static_cast<double>(Voxels(own->edge)) * own->run->projections();
  const double rest = SecondsSince(start);
  std::printf(
      "isocenter: %d projections; %.3f s in RCTAlgorithmBackprojection, %.3f s in "
      "RCTFinishAlgorithm; %.2f GUPS over both; %.3f s between calls with work under way\n",
      own->run->projections(), own->seconds, rest, updates / (own->seconds + rest) / 1e9,
      own->between);
  return absl::OkStatus();
}

absl::Status Unload(RabbitCtGlobalData& data) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
  if (session != nullptr && data.adv_pProjBuffers == session->run->image_buffers().data()) {
    data.adv_pProjBuffers = nullptr;
  }
  if (session != nullptr && data.f_L == session->volume) data.f_L = nullptr;
  delete std::exchange(session, nullptr);
  return absl::OkStatus();
}

// Runs one step of the interface: its lock, its message, and the end of every exception.
bool Call(const char* function, absl::Status (*step)(RabbitCtGlobalData&),
          RabbitCtGlobalData* data) noexcept {
  try {
    const absl::MutexLock lock(&mutex);
    const absl::Status status =
        data == nullptr ? absl::InvalidArgumentError("the runner's data is null") : step(*data);
    if (!status.ok()) {
      std::fprintf(stderr, "isocenter: %s: %s\n", function, status.ToString().c_str());
    }
    return status.ok();
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "isocenter: %s: %s\n", function, exception.what());
  } catch (...) {
    std::fprintf(stderr, "isocenter: %s: unknown exception\n", function);
  }
  return false;
}

}  // namespace
}  // namespace isocenter::rabbitct

bool RCTPrepareAlgorithm(RabbitCtGlobalData* data) {
  return isocenter::rabbitct::Call(__func__, isocenter::rabbitct::Prepare, data);
}

bool RCTLoadAlgorithm(RabbitCtGlobalData* data) {
  return isocenter::rabbitct::Call(__func__, isocenter::rabbitct::Load, data);
}

bool RCTAlgorithmBackprojection(RabbitCtGlobalData* data) {
  return isocenter::rabbitct::Call(__func__, isocenter::rabbitct::Backproject, data);
}

bool RCTFinishAlgorithm(RabbitCtGlobalData* data) {
  return isocenter::rabbitct::Call(__func__, isocenter::rabbitct::Finish, data);
}

bool RCTUnloadAlgorithm(RabbitCtGlobalData* data) {
  return isocenter::rabbitct::Call(__func__, isocenter::rabbitct::Unload, data);
}
