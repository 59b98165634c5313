#pragma once
#include <csignal>
#include <cstdint>
#include <dlfcn.h>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include "kernel/watched.h"

namespace memscope {

// tests/fake_cuda/libc10.cpp, in a process that has loaded it. The addresses of storages are numbers.
class FakeHostTensors {
  public:
    static std::string path_of(const std::string& build) { return FAKE_HOST_TENSORS "/" + build + "/libc10.so"; }
    explicit FakeHostTensors(const std::string& path = path_of("exported"))
        : handle_(::dlopen(path.c_str(), RTLD_NOW)) {
        if (!handle_) throw std::runtime_error(::dlerror());
    }

    // Not inlined: a probe at the entry of a function runs before the function has set up its frame, so the direct
    // caller is missing in the stack.
    [[gnu::noinline]] void allocate(std::uint64_t address, std::uint64_t bytes) const {
        function<void(void*, std::uint64_t, std::uint64_t)>("_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm")(
            nullptr, address, bytes);
    }
    // Like allocate(), but with a different native stack for each `way` below 256.
    void allocate_along(std::uint32_t way, std::uint64_t address, std::uint64_t bytes) const {
        function<void(std::uint32_t, std::uint32_t, std::uint64_t, std::uint64_t)>("allocate_along")(way, 9, address,
                                                                                                     bytes);
    }
    void free(std::uint64_t address) const {
        function<void(void*, std::uint64_t)>("_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv")(nullptr, address);
    }
    void fail(std::uint64_t bytes) const {
        function<void(void*, std::uint64_t)>("_ZN3c1025ProfiledCPUMemoryReporter11OutOfMemoryEm")(nullptr, bytes);
    }

  private:
    template <class Type>
    Type* function(const char* name) const {
        auto* found = reinterpret_cast<Type*>(::dlsym(handle_, name));
        if (!found) throw std::runtime_error(name);
        return found;
    }
    void* handle_ = nullptr;
};

// A job with one process that loads the library while it is watched, and then runs the given steps.
class HostTensorJob {
  public:
    using Body = std::function<void(const FakeHostTensors&, const Child::Script&)>;
    HostTensorJob(const char* name, const Body& body, WatchOptions options = {},
                  const KernelFacts& facts = gather_kernel_facts({}))
        : job(name),
          watched(Watched::on(facts, with_cgroup(std::move(options)))),
          child(job, [body](const auto& script) {
              script.say();
              script.wait();
              const FakeHostTensors tensors;
              script.say();
              script.wait();
              body(tensors, script);
              script.say();
              script.wait();
          }) {
        child.heard();
        watched.tick(job);
        child.go();
        child.heard();
        follow();
    }
    // A helper process attaches the probes, which takes more than one tick on a slow host. If the library is never
    // followed, the test continues and its checks fail.
    void follow() {
        for (int i = 0; i < 250 && !watched.has_probe("host_tensors"); ++i) {
            watched.collector().on_events();
            watched.tick(job);
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
    }
    // Lets the process run to its next step.
    void next() {
        child.go();
        child.heard();
    }
    // Ticks until all stacks are named, because a helper process reads the data for the names.
    Growth growth() {
        Growth growth;
        (void)watched.tick_until(job, [&](const TargetSnapshot& target) {
            watched.collector().on_events();
            growth = watched.collector().growth()->report(target);
            for (const UnattributedGrowth& part : growth.tensors_host.unattributed)
                if (part.reason == "pending" || part.reason == "unknown_stack") return false;
            return true;
        });
        return growth;
    }

    RealCgroup job;
    Watched watched;
    Child child;

  private:
    WatchOptions with_cgroup(WatchOptions options) const {
        options.cgroups = {job.name()};
        return options;
    }
};

inline std::int64_t held(const GrowthPlane& plane) {
    std::int64_t bytes = 0;
    for (const GrowthSite& site : plane.sites) bytes += site.bytes;
    return bytes;
}

inline std::int64_t held_at(const GrowthPlane& plane, std::string_view function) {
    std::int64_t bytes = 0;
    for (const GrowthSite& site : plane.sites)
        for (const NativeFrame& frame : site.native)
            if (frame.symbol == function) {
                bytes += site.bytes;
                break;
            }
    return bytes;
}

}  // namespace memscope
