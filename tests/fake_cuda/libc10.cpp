// Stands for PyTorch's base library: exports the three functions that its allocator calls for each host storage. They
// do nothing, so a test decides which storages exist. BARE: a build without Delete.
#include <cstddef>

#define KEPT __attribute__((visibility("default"), noinline, used))

namespace c10 {

class ProfiledCPUMemoryReporter {
  public:
    void New(void* ptr, std::size_t bytes);
    void Delete(void* ptr);
    void OutOfMemory(std::size_t bytes);
};

// The compiler would otherwise merge functions without effects.
static volatile std::size_t calls[3];

KEPT void ProfiledCPUMemoryReporter::New(void*, std::size_t) { calls[0] = calls[0] + 1; }
#ifndef BARE
KEPT void ProfiledCPUMemoryReporter::Delete(void*) { calls[1] = calls[1] + 1; }
#endif
KEPT void ProfiledCPUMemoryReporter::OutOfMemory(std::size_t) { calls[2] = calls[2] + 1; }

}  // namespace c10
