// The Python lines that allocate GPU memory, and that pin host memory.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

#include "kernel/deaths/deaths.h"
#include "kernel/gpu/fake_cuda.h"

namespace memscope {
namespace cuda_stacks_test {

namespace fs = std::filesystem;

// The tests check line numbers of this text.
constexpr const char* kScript = R"(import ctypes, os, sys, time
cuda = ctypes.CDLL(sys.argv[1])
here = sys.argv[2]
def hold_batch():
    cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(5 << 20))
def pin_buffer():
    cuda.cuMemHostAlloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(3 << 20), 0)
def keep_until_go():
    kept = []
    while not os.path.exists(here + '/go'):
        kept.append(b'x' * (1 << 20))
        time.sleep(0.05)
open(here + '/ready', 'w').close()
keep_until_go()
context = ctypes.c_void_p()
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
for _ in range(3): hold_batch()
pin_buffer()
open(here + '/done', 'w').close()
time.sleep(100)
)";

const GrowthSite* site_in(const GrowthPlane& plane, const std::string& function) {
    for (const GrowthSite& site : plane.sites)
        if (!site.python.empty() && site.python.front().function == function) return &site;
    return nullptr;
}

TEST(CudaStacks, NameThePythonLineForGpuAndPinnedMemory) {
    const fs::path here = fs::temp_directory_path() / ("memscope-cuda-" + std::to_string(::getpid()));
    fs::create_directory(here);
    std::ofstream(here / "train.py") << kScript;
    const RealCgroup job("shared-cuda-python");
    Watched watched = Watched::shared();
    Child child(job, [&](const Child::Script&) {
        ::execlp("python3", "python3", (here / "train.py").c_str(), FAKE_CUDA "/first/libcuda.so.1", here.c_str(),
                 nullptr);
        ::_exit(127);
    });
    const auto wait_until = [&](const char* name) {
        for (int i = 0; i < 500 && !fs::exists(here / name); ++i) {
            watched.collector().on_events();
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        ASSERT_TRUE(fs::exists(here / name)) << name;
    };
    wait_until("ready");
    // A stack has Python frames only after a helper process has found the interpreter.
    ASSERT_TRUE(watched.tick_until(job, [&](const TargetSnapshot& target) {
        const Growth growth = watched.collector().growth()->report(target);
        return watched.has_probe("gpu") && site_in(growth.resident, "keep_until_go");
    }));
    std::ofstream(here / "go").close();
    wait_until("done");
    Growth growth;
    ASSERT_TRUE(watched.tick_until(job, [&](const TargetSnapshot& target) {
        growth = watched.collector().growth()->report(target);
        return site_in(growth.gpu, "hold_batch") && site_in(growth.pinned, "pin_buffer");
    }));
    const GrowthSite* held = site_in(growth.gpu, "hold_batch");
    EXPECT_EQ(held->bytes, static_cast<std::int64_t>(15 * kMiB));
    EXPECT_EQ(held->python.front().line, 5);
    EXPECT_EQ(held->python.back().line, 18);
    EXPECT_EQ(held->pids, std::vector{child.pid()});
    const GrowthSite* pinned = site_in(growth.pinned, "pin_buffer");
    EXPECT_EQ(pinned->bytes, static_cast<std::int64_t>(3 * kMiB));
    EXPECT_EQ(pinned->python.front().line, 7);
    EXPECT_TRUE(growth.gpu.unattributed.empty());
    fs::remove_all(here);
}

}  // namespace cuda_stacks_test
}  // namespace memscope
