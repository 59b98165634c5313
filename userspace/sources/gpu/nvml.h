#pragma once
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "model/gpu/gpu.h"
#include "sources/gpu/nvml_library.h"

namespace memscope {

// Reads GPUs through NVML. Any of its calls may take long or hang, so that it belongs to a thread of its own.
class Nvml {
  public:
    // With a driver that does not answer this fails, and can be tried again.
    static Result<Nvml> start(const NvmlLibrary& library);
    Nvml(Nvml&& other) noexcept;
    Nvml& operator=(Nvml&&) = delete;
    ~Nvml();

    // All GPUs by index, each followed by the MIG devices it is cut into. One that fails has no values but its trouble.
    std::vector<GpuDevice> read();

  private:
    // A device as it was found: what never changes of it is read once.
    struct Found {
        nvml::Device handle = nullptr;
        GpuDevice known{};
        std::vector<Found> parts{};  // MIG devices
        bool tells_errors = false;
        std::uint64_t xid_errors = 0;
    };

    explicit Nvml(const NvmlCalls& calls) : calls_(calls) {}

    void find_devices();
    void find_parts(Found& gpu);
    std::optional<Found> identify(nvml::Device handle, unsigned index) const;
    void follow_errors(Found& gpu);
    void take_errors();
    int read_memory(nvml::Device handle, GpuDevice& out) const;
    void read_holders(nvml::Device handle, GpuDevice& out);
    GpuDevice read_one(const Found& device);
    // False: the library does not tell.
    bool add_processes(NvmlCalls::Processes call, nvml::Device handle, std::map<pid_t, std::optional<Bytes>>& holders);

    NvmlCalls calls_;
    std::vector<Found> devices_{};
    nvml::EventSet events_ = nullptr;
    std::vector<std::byte> buffer_{};  // for lists of processes
    std::size_t reads_ = 0;
    bool running_ = true;
};

// The processes in what a call has written over a buffer full of kNvmlSentinel. How long an entry is follows from where
// the writing ended. None where that fits no known length.
constexpr std::byte kNvmlSentinel{0xA5};
std::optional<std::vector<GpuHolder>> parse_nvml_processes(std::span<const std::byte> buffer, std::size_t count);

// What a library has written into an array of characters that it should have terminated. Safe to show.
std::string nvml_text(std::span<const char> written);

}  // namespace memscope
