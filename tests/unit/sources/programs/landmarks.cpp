// A program with known functions: prints their addresses, then waits until its standard input ends. Built with and
// without a fixed address, and without symbols.
#include <cstdio>
#include <unistd.h>

namespace landmarks {

// The caller's return address.
__attribute__((noinline)) void* caller() { return __builtin_return_address(0); }

template <class T>
__attribute__((noinline)) void* lighthouse(T) {
    void* volatile here = caller();
    return here;
}

}  // namespace landmarks

extern "C" __attribute__((noinline)) int landmark(int x) { return x * 3; }

int main() {
    std::printf("%lx %lx\n", reinterpret_cast<unsigned long>(&landmark),
                reinterpret_cast<unsigned long>(landmarks::lighthouse(landmark(1))));
    std::fflush(stdout);
    char byte = 0;
    while (::read(STDIN_FILENO, &byte, 1) > 0) continue;
}
