#include "kernels/base/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <string>

namespace isocenter {

struct ThreadPool::Loop {
  const std::function<void(int64_t, int)>* body;
  int64_t count;
  std::atomic<int64_t> next{0};
  int busy = 0;  // workers inside the loop; guarded by ThreadPool::mutex_

  void Run(int worker) {
    for (int64_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) (*body)(i, worker);
  }
};

ThreadPool::ThreadPool(int threads) {
  for (int worker = 1; worker < threads; ++worker) {
    workers_.emplace_back([this, worker] { Work(worker); });
    pthread_setname_np(workers_.back().native_handle(),
                       ("iso-cpu-" + std::to_string(worker)).c_str());
  }
}

ThreadPool::~ThreadPool() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::Work(int worker) {
  int64_t seen = 0;
  while (true) {
    Loop* loop = nullptr;
    {
      absl::MutexLock lock(&mutex_);
      auto wake = [this, &seen]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
        return stopping_ || (loop_ != nullptr && generation_ != seen);
      };
      mutex_.Await(absl::Condition(&wake));
      if (stopping_) return;
      seen = generation_;
      loop = loop_;
      ++loop->busy;
    }
    loop->Run(worker);
    absl::MutexLock lock(&mutex_);
    --loop->busy;
  }
}

void ThreadPool::ParallelFor(int64_t count, const std::function<void(int64_t, int)>& body) {
  if (count <= 0) return;
  absl::MutexLock caller(&callers_);
  Loop loop{.body = &body, .count = count};
  {
    absl::MutexLock lock(&mutex_);
    loop_ = &loop;
    ++generation_;
  }
  loop.Run(0);
  absl::MutexLock lock(&mutex_);
  loop_ = nullptr;  // late workers no longer join
  auto idle = [&loop] { return loop.busy == 0; };
  mutex_.Await(absl::Condition(&idle));
}

int UsableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace isocenter
