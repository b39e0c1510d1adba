// What the sanitizers of this build start from, wherever a program is run: by ctest, by a test that
// starts it, by hand. The environment (ASAN_OPTIONS, LSAN_OPTIONS, TSAN_OPTIONS) adds to it.

extern "C" {

// Leaks that are not ours, by a function on the stack of the allocation.
const char* __lsan_default_suppressions() {
  // DCMTK 3.6.7 drops an empty list of 32 bytes on some association requests that it cannot parse
  // (DUL_ReceiveAssociationRQ; GarbageLeavesItServing of dicom_node_test sends one). A whole
  // association that is never destroyed would be reported by its other parts.
  return "leak:LST_Create\n";
}

const char* __tsan_default_options() {
  // gRPC, Protobuf, DCMTK and the others come from the distribution uninstrumented. What they order
  // by atomics cannot be seen, so what they touch through memcpy and its like is not looked at
  // either.
  return "ignore_noninstrumented_modules=1";
}
}
