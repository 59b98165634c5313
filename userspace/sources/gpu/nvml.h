#pragma once
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "model/gpu/gpu.h"
#include "sources/gpu/nvml_library.h"

namespace memscope {

// Reads GPUs through NVML. It needs a thread of its own, because any NVML call may take long or hang.
class Nvml {
  public:
    // Fails if the driver does not answer. The caller can try again.
    static Result<Nvml> start(const NvmlLibrary& library);
    Nvml(Nvml&& other) noexcept;
    Nvml& operator=(Nvml&&) = delete;
    ~Nvml();

    // All GPUs by index, each followed by its MIG devices. A device that fails has only its error text in `trouble`.
    std::vector<GpuDevice> read();

  private:
    // A device with the constant data that is read once.
    struct Found {
        nvml::Device handle = nullptr;
        GpuDevice known{};
        std::vector<Found> parts{};  // MIG devices
        bool reports_errors = false;
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
    // False if the library cannot list them.
    bool add_processes(NvmlCalls::Processes call, nvml::Device handle, std::map<pid_t, std::optional<Bytes>>& holders);

    NvmlCalls calls_;
    std::vector<Found> devices_{};
    nvml::EventSet events_ = nullptr;
    std::vector<std::byte> buffer_{};  // for lists of processes
    std::size_t reads_ = 0;
    bool running_ = true;
};

// Parses the process list that an NVML call has written over a buffer filled with kNvmlSentinel. The length of an entry
// is derived from where the written part ends. None if that fits no known length.
constexpr std::byte kNvmlSentinel{0xA5};
std::optional<std::vector<GpuHolder>> parse_nvml_processes(std::span<const std::byte> buffer, std::size_t count);

// The text in a character array that the library may have left without a NUL. Safe to print.
std::string nvml_text(std::span<const char> written);

}  // namespace memscope
