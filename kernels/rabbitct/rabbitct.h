// The plug-in interface of the RabbitCT benchmark, as its runner loads it with dlopen and dlsym.
// Source: Rohkohl, Keck, Hofmann, Hornegger, Med. Phys. 36 (2009) 3940; docs/rabbitct.md.
#pragma once

/// What the runner and a module share. The runner owns the structure and everything in it but what
/// a module puts there. Newer runners append members of their own; nothing here reads them, so that
/// one module fits all.
struct RabbitCtGlobalData {
  unsigned int L;    // voxels per edge of the cubic volume
  unsigned int S_x;  // detector columns
  unsigned int S_y;  // detector rows
  double* A_n;       // 3x4 matrix, column by column: world millimetres to pixels
  float* I_n;        // [row][column], filtered; valid during the call only
  float R_L;         // voxel edge in mm
  float O_L;         // x, y and z of the first voxel's centre in mm
  float* f_L;        // result [z][y][x]; the module's when it sets it, else the runner's
  unsigned int adv_numProjBuffers;  // images that the runner holds at once
  float** adv_pProjBuffers;         // those images; the module's when it sets them before Load ends
};

// In the order of their calls. Each returns false, after a message on stderr, when it failed; the
// runner then gives up. One benchmark at a time per process.
extern "C" {

/// Optional: not every runner calls it. Opens the device and allocates f_L.
bool RCTPrepareAlgorithm(RabbitCtGlobalData* data);
/// The same where the former was not called.
bool RCTLoadAlgorithm(RabbitCtGlobalData* data);
/// Once per projection, with A_n and I_n set; the only call that the benchmark times.
bool RCTAlgorithmBackprojection(RabbitCtGlobalData* data);
/// After the last projection: f_L is complete when it returns.
bool RCTFinishAlgorithm(RabbitCtGlobalData* data);
/// After the runner has looked at f_L, or after a failure: frees what the module allocated.
bool RCTUnloadAlgorithm(RabbitCtGlobalData* data);

}  // extern "C"
