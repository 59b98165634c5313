#pragma once
#include "kernel/gpu/fake_cuda.h"

namespace memscope {

// The allocator of tests/fake_cuda/libc10_cuda.cpp and a fake driver, in a process that has loaded both.
class FakeTorch {
  public:
    static std::string path_of(const std::string& build) { return FAKE_TORCH "/" + build + "/libc10_cuda.so"; }
    explicit FakeTorch(const std::string& path = path_of("probed")) : handle_(::dlopen(path.c_str(), RTLD_NOW)) {
        if (!handle_) throw std::runtime_error(::dlerror());
    }

    std::uint64_t malloc(std::uint64_t bytes, int device = 0, const char* site = "fake_torch_malloc") const {
        return function<std::uint64_t(std::uint64_t, int)>(site)(bytes, device);
    }
    void free(std::uint64_t address, const char* site = "fake_torch_free") const {
        function<void(std::uint64_t)>(site)(address);
    }
    // The semaphore of the probes is set. Without it the library skips them.
    bool is_watched() const { return function<unsigned()>("fake_torch_semaphores")() != 0; }

  private:
    template <class Type>
    Type* function(const char* name) const {
        auto* found = reinterpret_cast<Type*>(::dlsym(handle_, name));
        if (!found) throw std::runtime_error(name);
        return found;
    }
    void* handle_ = nullptr;
};

// A collector that reads tensors, one for all tests of a process, like Watched::shared().
inline Watched watched_tensors() {
    static const Watched all =
        Watched::on(gather_kernel_facts({}), {.cgroups = {RealCgroup::name_of("tensors-*")}, .torch = true});
    Watched watched = all;
    watched.tick();
    return watched;
}

// A job with one process that loads both libraries while it is watched, and then runs the given steps.
class TorchJob {
  public:
    using Body = std::function<void(const FakeTorch&, const FakeCuda&, const Child::Script&)>;
    using Watch = std::function<Watched(const RealCgroup&)>;
    TorchJob(
        const char* name, const Body& body, const Watch& watch = [](const RealCgroup&) { return watched_tensors(); },
        const std::string& build = "probed")
        : job(name), watched(watch(job)), child(job, [body, build](const Child::Script& script) {
              script.say();
              script.wait();
              const FakeTorch torch(FakeTorch::path_of(build));
              const FakeCuda cuda;
              script.say();
              script.wait();
              body(torch, cuda, script);
              script.say();
              script.wait();
          }) {
        child.heard();
        watched.tick(job);
        child.go();
        child.heard();
        // Helper processes attach the probes to both libraries, which takes more than one tick on a slow host. If a
        // library is never followed, the test continues and its checks fail.
        for (int i = 0; i < 100 && !(watched.has_probe("torch") && watched.has_probe("gpu")); ++i) {
            watched.collector().on_events();
            watched.tick(job);
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
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
};

inline std::optional<std::uint64_t> tensors_of(const TargetSnapshot& target, pid_t pid, int device = 0) {
    const auto& tensors = use_of(target, pid, device).tensors;
    return tensors ? std::optional(tensors->n) : std::nullopt;
}

}  // namespace memscope
