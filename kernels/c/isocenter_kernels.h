/* Isocenter's kernels for programs in C and whoever calls C: filtered back-projection, iterations,
 * projectors with their adjoints, and phantoms, on arrays of the caller's, without a service.
 * libisocenter_kernels.so shows these functions and nothing else.
 *
 * Conventions. Millimetres; attenuation in 1/mm; volumes in Hounsfield units
 * where FDK and iterations make them, in 1/mm where projectors take them. The world is
 * right-handed, its origin the isocentre, z along the rotation axis. Arrays are dense, the last
 * index fastest, aligned to their elements, of the machine's byte order: volumes [z][y][x],
 * projections [view][v][u], matrices [view][3][4] with (u*w, v*w, w) = P (x, y, z, 1), integers
 * being pixel centres, w above 0 at the isocentre, of any scale. They stay the caller's; nothing
 * keeps a pointer after a call. A count of elements comes with each, and is checked.
 *
 * Errors. Functions that can fail return a status; on failure nothing that they were to make
 * exists, and isocenter_message says what was wrong: the field, its value, what is legal. All that
 * a call is given is looked at before it computes, and what it needs of memory before it allocates.
 * No exception leaves the library. Output arrays hold nothing of use after a call that failed.
 *
 * Threads. Devices and plans may be used by several threads at once, a projector by one after the
 * other (it waits). A handle is freed once, when no call uses it; those that were made from it stay
 * good. After fork() the child makes its own: handles of the parent are refused. */
#ifndef ISOCENTER_KERNELS_H_
#define ISOCENTER_KERNELS_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of this header. A library of another number is another interface. */
#define ISOCENTER_KERNELS_ABI 2

/* The number of the library that was loaded, and its version, e.g. "0.1.0". */
int32_t isocenter_abi(void);
const char* isocenter_version(void);

/* Canonical codes, as those of gRPC; others than these may come, and are errors. */
typedef int32_t isocenter_status;
enum {
  ISOCENTER_OK = 0,
  ISOCENTER_CANCELLED = 1,           /* isocenter_control.stop was set */
  ISOCENTER_INVALID_ARGUMENT = 3,    /* a value, a shape, a null pointer */
  ISOCENTER_NOT_FOUND = 5,           /* no such backend, method, phantom */
  ISOCENTER_RESOURCE_EXHAUSTED = 8,  /* memory of the machine or a device */
  ISOCENTER_FAILED_PRECONDITION = 9, /* a handle from before fork() */
  ISOCENTER_INTERNAL = 13,           /* a fault of the library */
  ISOCENTER_UNAVAILABLE = 14         /* no such device in this machine, or it was lost */
};
/* What was wrong in the last call of this thread that failed; valid until its next one fails. */
const char* isocenter_message(void);

/* Of one pass over the views. residual: |b - Ax| / |b|, of the iterates before each subset's update
 * where there are subsets. objective: what is minimised, NaN where it is not defined. */
typedef struct isocenter_iteration {
  int32_t iteration; /* from 1 */
  int32_t reserved;
  double residual, objective, seconds;
} isocenter_iteration;

/* A long call, seen from another thread: whoever sets `stop` to other than 0 ends it within a chunk
 * of views, with CANCELLED. The library writes the rest. All are aligned words that may be read at
 * any time. */
typedef struct isocenter_control {
  int32_t stop;
  int32_t
      iterations;  /* passes that have ended; as many of `reports` are written, if there is room */
  double fraction; /* of the work, 0 to 1 */
  isocenter_iteration* reports;
  int64_t room; /* of reports */
} isocenter_control;

/* ---- Devices ---- */

typedef struct isocenter_device isocenter_device;

/* "cpu cuda reference": the backends of this build, which are the names below. */
const char* isocenter_backends(void);
/* name: a backend, with ":1" behind it the second device of its kind; "" or NULL: the fastest that
 * there is. threads: of the CPU, 0: one for each core that this process may use. memory_bytes: at
 * most so much of the device's memory; 0: its own limit. Errors: NOT_FOUND, UNAVAILABLE,
 * INVALID_ARGUMENT. */
isocenter_status isocenter_device_open(const char* name, int32_t threads, int64_t memory_bytes,
                                       isocenter_device** device);
/* For people, e.g. "CPU, 2 threads, AVX-512"; and its backend. As long as the handle. */
const char* isocenter_device_description(const isocenter_device* device);
const char* isocenter_device_backend(const isocenter_device* device);
void isocenter_device_close(
    isocenter_device* device); /* NULL is legal, here and wherever a handle is freed */

/* ---- Geometry ---- */

/* A flat detector and the matrices of its views: columns and rows 1 to 8192, pitches up to 10 mm,
 * views 1 to 10000. */
typedef struct isocenter_scan {
  int32_t columns, rows;
  double pitch_u_mm, pitch_v_mm;
  int64_t views;
  const double* matrices; /* views x 3 x 4 */
} isocenter_scan;

/* Voxel (i, j, k) has its centre at origin + direction (i spacing[0], j spacing[1], k spacing[2]).
 * direction: row by row; its columns are the unit vectors of the index axes. Sizes 1 to 4096,
 * spacing 0.0001 to 100 mm. */
typedef struct isocenter_grid {
  int32_t nx, ny, nz;
  int32_t reserved;
  double spacing_mm[3], origin_mm[3], direction[9];
} isocenter_grid;

/* A cube of size^3 voxels around what every view sees. Errors: INVALID_ARGUMENT (a view does not
 * see the isocentre). */
isocenter_status isocenter_auto_grid(const isocenter_scan* scan, int32_t size,
                                     isocenter_grid* grid);
/* A C-arm that sags and wobbles around a circular orbit as real ones do; amplitude 1 is a typical
 * arm, 0 the ideal orbit, at most 10. Writes `views` x 3 x 4 doubles; `scan.matrices` is not read.
 * arc: from the first view to the last. */
isocenter_status isocenter_wobbling_orbit(const isocenter_scan* scan, double source_to_isocenter_mm,
                                          double source_to_detector_mm, double start_angle_rad,
                                          double arc_rad, double amplitude, uint64_t seed,
                                          double* matrices, int64_t count);

/* ---- Reconstruction ---- */

enum { ISOCENTER_COUNTS_UINT16 = 1, ISOCENTER_LINE_INTEGRALS_FLOAT32 = 2 };

typedef struct isocenter_fdk {
  const char* window; /* ram-lak, shepp-logan, cosine, hamming, hann */
  const char*
      redundancy; /* auto, short-scan, full-scan; a displaced detector is seen from the matrices */
  const char* truncation; /* none, mirror, cylinder, atract */
  const char* precision;  /* exact, fast */
  double cutoff;          /* of the Nyquist frequency, above 0, at most 1 */
  double mu_water_per_mm; /* 0.001 to 0.1 */
} isocenter_fdk;

/* docs/iterative.md has what each does, kernels/recon/iterative/settings.h what is legal. */
typedef struct isocenter_iterative {
  const char* algorithm; /* sirt, sart, os_sart, cgls, lsqr, os_sqs, asd_pocs, fista_tv */
  const char* projector; /* joseph, siddon, voxel_driven, voxel_driven_split, separable_footprint */
  const char* precision; /* exact, fast */
  int32_t iterations, subsets, tv_steps, surroundings_factor;
  int32_t matched, non_negative, warm_start, statistical_weights; /* 0 or 1 */
  double relaxation, relaxation_decay, prior_strength, huber_delta_per_mm, stop_residual;
} isocenter_iterative;

/* What is used where nobody says anything. Strings are static. */
void isocenter_fdk_defaults(isocenter_fdk* fdk);
void isocenter_iterative_defaults(isocenter_iterative* iterative);

typedef struct isocenter_plan isocenter_plan;

/* Everything that is known before the first frame; it may be run for many scans of one geometry.
 * pixel_type: of the frames; i0_counts: of counts, those of an unattenuated pixel, 1 to 65535, else
 * not read. Errors: INVALID_ARGUMENT, NOT_FOUND (a method that the device's backend lacks),
 * RESOURCE_EXHAUSTED (what is needed, and the limit). */
isocenter_status isocenter_plan_fdk(isocenter_device* device, const isocenter_scan* scan,
                                    int32_t pixel_type, double i0_counts,
                                    const isocenter_grid* grid, const isocenter_fdk* fdk,
                                    isocenter_plan** plan);
/* fdk: of the volume that it begins with (warm_start), and mu_water. */
isocenter_status isocenter_plan_iterative(isocenter_device* device, const isocenter_scan* scan,
                                          int32_t pixel_type, double i0_counts,
                                          const isocenter_grid* grid, const isocenter_fdk* fdk,
                                          const isocenter_iterative* iterative,
                                          isocenter_plan** plan);
/* What was decided, a line each, for people; as long as the handle. */
const char* isocenter_plan_text(const isocenter_plan* plan);
/* Upper bounds of what a run takes of the device's memory, and of the host's beside the frames. */
int64_t isocenter_plan_device_bytes(const isocenter_plan* plan);
int64_t isocenter_plan_host_bytes(const isocenter_plan* plan);
/* What is wrong with a scan whose volume a run would make all the same, as `isocenter reconstruct`
 * warns of it: frames that repeat or show nothing, air that is not at i0_counts, values that are no
 * line integrals, matrices that do not fit the frames, a grid that the views hardly see. Arguments
 * as of a run, which says nothing of it. sentences: a line each for people, "" where nothing is
 * wrong; valid until this thread's next call. It looks for values that are not legal, and then at
 * 16 rows of each frame, a few more around the middle, and where rows end: not at every pixel. */
isocenter_status isocenter_plan_warnings(const isocenter_plan* plan, const void* frames,
                                         int64_t pixels, const char** sentences);
/* frames [view][v][u] of `pixels` elements to `volume` [z][y][x] of `voxels`, in HU. start: of
 * iterations without a warm start, the volume in HU that they begin with, perhaps `volume` itself;
 * NULL: nothing, or FDK's. control: NULL, or as above. Frames and start must be finite, line
 * integrals at most 100 either way. */
isocenter_status isocenter_plan_run(const isocenter_plan* plan, const void* frames, int64_t pixels,
                                    const float* start, float* volume, int64_t voxels,
                                    isocenter_control* control);
void isocenter_plan_free(isocenter_plan* plan);

/* ---- Projectors ---- */

typedef struct isocenter_projector isocenter_projector;

/* A of p = A x, volumes in 1/mm to line integrals, and its adjoint: |<Ax, y> - <x, A'y>| <= 1e-5
 * |Ax| |y|. model: as of isocenter_iterative. Keeps a volume and some views in the device's memory.
 * Errors: as isocenter_plan_fdk. */
isocenter_status isocenter_projector_new(isocenter_device* device, const isocenter_scan* scan,
                                         const isocenter_grid* grid, const char* model,
                                         const char* precision, isocenter_projector** projector);
/* projections = A volume. Both finite. */
isocenter_status isocenter_projector_forward(isocenter_projector* projector, const float* volume,
                                             int64_t voxels, float* projections, int64_t pixels,
                                             isocenter_control* control);
/* volume = A' projections. */
isocenter_status isocenter_projector_adjoint(isocenter_projector* projector,
                                             const float* projections, int64_t pixels,
                                             float* volume, int64_t voxels,
                                             isocenter_control* control);
void isocenter_projector_free(isocenter_projector* projector);

/* ---- Phantoms ---- */

/* "shepp-logan head ..": their names (kernels/phantom/phantom.h). */
const char* isocenter_phantoms(void);
/* scale_mm: half the edge of the cube that it nearly fills. subsamples: points or rays that are
 * averaged, per axis, 1 to 16. threads: 0: one per core. */
typedef struct isocenter_phantom {
  const char* name;
  double scale_mm, mu_water_per_mm;
  int32_t subsamples, threads;
} isocenter_phantom;
/* Its exact line integrals, or its voxels in HU. */
isocenter_status isocenter_phantom_project(const isocenter_phantom* phantom,
                                           const isocenter_scan* scan, float* projections,
                                           int64_t pixels, isocenter_control* control);
isocenter_status isocenter_phantom_voxels(const isocenter_phantom* phantom,
                                          const isocenter_grid* grid, float* volume, int64_t voxels,
                                          isocenter_control* control);
/* Counts of line integrals [view][v][u]: i0_counts / photons times a Poisson number of photons *
 * exp(-p), and normal noise of `electronic_counts`; photons 0: no quantum noise. The same seed
 * gives the same counts on every machine. */
isocenter_status isocenter_add_noise(const float* projections, int64_t views,
                                     int64_t pixels_per_view, double i0_counts, double photons,
                                     double electronic_counts, uint64_t seed, uint16_t* counts);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ISOCENTER_KERNELS_H_ */
