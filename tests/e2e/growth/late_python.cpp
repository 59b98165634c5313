// Runs a Python script in an interpreter that it loads late: late_python SCRIPT ARGUMENT...
// Its memory grows before, so that memscope examines the process when it has no Python yet.
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <thread>

int main(int count, char** arguments) {
    constexpr std::size_t kBytes = 8 << 20;
    void* grown = std::malloc(kBytes);
    std::memset(grown, 1, kBytes);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    void* library = ::dlopen("libpython3.11.so.1.0", RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
        std::fprintf(stderr, "%s\n", ::dlerror());
        return 1;
    }
    const auto run = reinterpret_cast<int (*)(int, char**)>(::dlsym(library, "Py_BytesMain"));
    return run == nullptr ? 1 : run(count, arguments);
}
