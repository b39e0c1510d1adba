// Nothing of its own: it owns the precompiled header of all tests (CMakeLists.txt).
int main() {}
