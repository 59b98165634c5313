#pragma once
#include <cstdint>
#include <dlfcn.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "kernel/watched.h"

namespace memscope {

// The fake driver of tests/fake_cuda in a process that has loaded one of its copies.
class FakeCuda {
  public:
    explicit FakeCuda(const std::string& copy = "first")
        : FakeCuda(std::string(FAKE_CUDA "/") + copy + "/libcuda.so.1", RTLD_NOW) {}
    FakeCuda(const std::string& path, int flags) : handle_(::dlopen(path.c_str(), flags)) {
        if (!handle_) throw std::runtime_error(::dlerror());
    }

    template <class... Arguments>
    int call(const char* name, Arguments... arguments) const {
        auto* function = reinterpret_cast<int (*)(Arguments...)>(::dlsym(handle_, name));
        if (!function) throw std::runtime_error(name);
        return function(arguments...);
    }

    // The thread works on that device from now on.
    void* use(int device) const {
        unsigned char uuid[16];
        call("cuDeviceGetUuid_v2", static_cast<unsigned char*>(uuid), device);
        void* context = nullptr;
        call("cuDevicePrimaryCtxRetain", &context, device);
        call("cuCtxSetCurrent", context);
        return context;
    }
    std::uint64_t alloc(std::size_t bytes, const char* name = "cuMemAlloc_v2") const {
        std::uint64_t address = 0;
        last_ = call(name, &address, bytes);
        return address;
    }
    std::uint64_t alloc_async(std::size_t bytes, const char* name = "cuMemAllocAsync") const {
        std::uint64_t address = 0;
        last_ = call(name, &address, bytes, static_cast<void*>(nullptr), static_cast<void*>(nullptr));
        return address;
    }
    void free(std::uint64_t address) const { last_ = call("cuMemFree_v2", address); }
    std::uint64_t create(std::size_t bytes, int device) const {
        const int prop[4] = {1, 0, 1, device};
        std::uint64_t handle = 0;
        last_ = call("cuMemCreate", &handle, bytes, static_cast<const int*>(prop), 0ULL);
        return handle;
    }
    // Reserves `bytes` of addresses.
    std::uint64_t reserve(std::size_t bytes) const {
        std::uint64_t base = 0;
        call("cuMemAddressReserve", &base, bytes, std::size_t{0}, std::uint64_t{0}, 0ULL);
        return base;
    }
    int map(std::uint64_t address, std::size_t bytes, std::uint64_t handle) const {
        return call("cuMemMap", address, bytes, std::size_t{0}, handle, 0ULL);
    }
    int unmap(std::uint64_t address, std::size_t bytes) const { return call("cuMemUnmap", address, bytes); }
    int release(std::uint64_t handle) const { return call("cuMemRelease", handle); }
    int last() const { return last_; }

  private:
    void* handle_ = nullptr;
    mutable int last_ = 0;
};

inline GpuId fake_gpu(int device) { return "GPU-abababab-abab-abab-abab-ababababab0" + std::to_string(device); }

// A job with one process that loads the driver while it is watched, and then runs the given steps.
class CudaJob {
  public:
    using Body = std::function<void(const FakeCuda&, const Child::Script&)>;
    using Watch = std::function<Watched(const RealCgroup&)>;
    CudaJob(
        const char* name, const Body& body, const Watch& watch = [](const RealCgroup&) { return Watched::shared(); })
        : job(name), watched(watch(job)), child(job, [body](const Child::Script& script) {
              script.say();
              script.wait();
              const FakeCuda cuda;
              script.say();
              script.wait();
              body(cuda, script);
              script.say();
              script.wait();
          }) {
        child.heard();
        watched.tick(job);
        child.go();
        child.heard();
        wait_until_followed();
    }
    // Lets the process run to its end, then ticks.
    const TargetSnapshot& done() {
        child.go();
        child.heard();
        return watched.tick(job);
    }

    RealCgroup job;
    Watched watched;
    Child child;

  private:
    // Helper processes read the library and attach the probes, which takes more than one tick on a slow host. If the
    // library is never followed, the test continues and its checks fail.
    void wait_until_followed() {
        (void)watched.tick_until(job, [this](const TargetSnapshot&) { return watched.has_probe("gpu"); });
    }
};

// A job with one process that has loaded the driver, and has done all of `body` up to its first say(), before it is
// watched.
class EarlierCudaJob {
  public:
    EarlierCudaJob(const char* name, const CudaJob::Body& body)
        : job(name), child(job, [body](const Child::Script& script) {
              const FakeCuda cuda;
              body(cuda, script);
              script.say();
              script.wait();
          }) {
        child.heard();
        watched.emplace(std::vector{job.name()});
        (void)watched->tick_until(job, [this](const TargetSnapshot&) { return watched->has_probe("gpu"); });
    }
    // Lets the process run to its next say(), then ticks.
    const TargetSnapshot& next() {
        child.go();
        child.heard();
        return watched->tick(job);
    }

    RealCgroup job;
    Child child;
    std::optional<Watched> watched{};
};

inline const GpuUse& use_of(const TargetSnapshot& target, pid_t pid, int device) {
    static const GpuUse nothing{};
    if (!target.gpu) return nothing;
    const auto process = target.gpu->processes.find(pid);
    if (process == target.gpu->processes.end()) return nothing;
    const auto use = process->second.devices.find(fake_gpu(device));
    return use == process->second.devices.end() ? nothing : use->second;
}

inline PinnedUse pinned_of(const TargetSnapshot& target, pid_t pid) {
    if (!target.gpu) return {};
    const auto process = target.gpu->processes.find(pid);
    return process == target.gpu->processes.end() ? PinnedUse{} : process->second.pinned;
}

inline std::uint64_t failures_of(const TargetSnapshot& target) {
    std::uint64_t sum = 0;
    if (target.gpu)
        for (const auto& [where, count] : target.gpu->failures) sum += count;
    return sum;
}

}  // namespace memscope
