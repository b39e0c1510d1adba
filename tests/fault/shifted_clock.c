// Preloaded into a program under test (LD_PRELOAD), it shifts the system's clock, and nothing else,
// by what a file holds: eight bytes, nanoseconds as a signed integer of the machine.
// ISOCENTER_CLOCK_SHIFT_FILE names it. Who writes to the file sets the clock, for all programs that
// have it, as an operator or a time server does to a whole machine.
//
// Clocks that only go forward (CLOCK_MONOTONIC) stay as they are. Waits until a time of the
// system's clock, whose end the kernel moves when that clock is set, do here what they do there:
// set forward they end early, set back they last longer. Waits for a duration and waits by a
// monotonic clock are left alone.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

// Within this the waits see that the clock has been set.
static const int64_t kSliceNs = 20 * 1000 * 1000;
static const int64_t kSecondNs = 1000 * 1000 * 1000;

static const volatile int64_t* shift_ns;  // null: there is no file

static int (*real_clock_gettime)(clockid_t, struct timespec*);
static long (*real_syscall)(long, ...);
static int (*real_cond_timedwait)(pthread_cond_t*, pthread_mutex_t*, const struct timespec*);
static int (*real_sem_timedwait)(sem_t*, const struct timespec*);

static void Find(void) {
  real_clock_gettime = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  real_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  real_cond_timedwait = (int (*)(pthread_cond_t*, pthread_mutex_t*, const struct timespec*))dlsym(
      RTLD_NEXT, "pthread_cond_timedwait");
  real_sem_timedwait = (int (*)(sem_t*, const struct timespec*))dlsym(RTLD_NEXT, "sem_timedwait");
}

// Other libraries may ask for the time before this one is told that it is loaded.
static void Prepare(void) {
  if (real_clock_gettime == NULL) Find();
}

__attribute__((constructor)) static void Open(void) {
  Prepare();
  const char* path = getenv("ISOCENTER_CLOCK_SHIFT_FILE");
  if (path == NULL) return;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void* page = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (page != MAP_FAILED) shift_ns = page;
}

static int IsSystemClock(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
}

static int64_t Ns(const struct timespec* time) { return time->tv_sec * kSecondNs + time->tv_nsec; }

static struct timespec Timespec(int64_t ns) {
  struct timespec time = {ns / kSecondNs, ns % kSecondNs};
  return time;
}

static int64_t RealNs(void) {
  struct timespec now;
  Prepare();
  real_clock_gettime(CLOCK_REALTIME, &now);
  return Ns(&now);
}

static int64_t ShiftedNs(void) { return RealNs() + (shift_ns == NULL ? 0 : *shift_ns); }

int clock_gettime(clockid_t clock, struct timespec* time) {
  Prepare();
  if (shift_ns == NULL || !IsSystemClock(clock)) return real_clock_gettime(clock, time);
  *time = Timespec(ShiftedNs());
  return 0;
}

int gettimeofday(struct timeval* restrict time, void* restrict zone) {
  (void)zone;
  const int64_t now = ShiftedNs();
  time->tv_sec = now / kSecondNs;
  time->tv_usec = now % kSecondNs / 1000;
  return 0;
}

time_t time(time_t* result) {
  const time_t now = ShiftedNs() / kSecondNs;
  if (result != NULL) *result = now;
  return now;
}

// What is left until a time of the shifted clock, a slice at most; 0: it has passed.
static int64_t Slice(const struct timespec* until) {
  const int64_t left = Ns(until) - ShiftedNs();
  return left <= 0 ? 0 : left < kSliceNs ? left : kSliceNs;
}

// Ends after a slice as if it had been woken, which callers expect of it: they look at what they
// wait for, and wait again.
int pthread_cond_timedwait(pthread_cond_t* restrict condition, pthread_mutex_t* restrict mutex,
                           const struct timespec* restrict until) {
  Prepare();
  if (shift_ns == NULL) return real_cond_timedwait(condition, mutex, until);
  const int64_t slice = Slice(until);
  const struct timespec end = Timespec(RealNs() + slice);
  const int result = real_cond_timedwait(condition, mutex, &end);
  return result == ETIMEDOUT && slice > 0 && Slice(until) > 0 ? 0 : result;
}

int sem_timedwait(sem_t* restrict semaphore, const struct timespec* restrict until) {
  Prepare();
  if (shift_ns == NULL) return real_sem_timedwait(semaphore, until);
  for (;;) {
    const int64_t slice = Slice(until);
    const struct timespec end = Timespec(RealNs() + slice);
    const int result = real_sem_timedwait(semaphore, &end);
    if (result == 0 || errno != ETIMEDOUT || slice == 0) return result;
  }
}

// absl::Mutex and gRPC wait by the system call itself.
long syscall(long number, ...) {
  va_list list;
  long a[6];
  va_start(list, number);
  for (int i = 0; i < 6; ++i) a[i] = va_arg(list, long);
  va_end(list);
  Prepare();
  const struct timespec* until = (const struct timespec*)a[3];
  const int by_the_system_clock = number == SYS_futex &&
                                  (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET &&
                                  (a[1] & FUTEX_CLOCK_REALTIME) != 0;
  if (shift_ns == NULL || !by_the_system_clock || until == NULL) {
    return real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  }
  const long wait_for_a_duration = FUTEX_WAIT | (a[1] & FUTEX_PRIVATE_FLAG);
  for (;;) {
    const int64_t slice = Slice(until);
    if (slice == 0) {
      errno = ETIMEDOUT;
      return -1;
    }
    const struct timespec duration = Timespec(slice);
    const long result =
        real_syscall(SYS_futex, a[0], wait_for_a_duration, a[2], (long)&duration, 0L, 0L);
    if (result == 0 || errno != ETIMEDOUT) return result;
  }
}
