#include "sources/gpu/nvml.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "base/text.h"

namespace memscope {
namespace {

template <class T>
T value_at(std::span<const std::byte> bytes, std::size_t offset) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

// The last field of an entry never ends with the sentinel byte: sizes have fewer bits, and instance ids are small
// numbers or all ones.
std::size_t end_of_writing(std::span<const std::byte> buffer) {
    const auto last = std::find_if(buffer.rbegin(), buffer.rend(), [](std::byte b) { return b != kNvmlSentinel; });
    return static_cast<std::size_t>(buffer.rend() - last);
}

}  // namespace

std::optional<std::vector<GpuHolder>> parse_nvml_processes(std::span<const std::byte> buffer, std::size_t count) {
    std::vector<GpuHolder> holders;
    if (count == 0) return holders;
    if (count > buffer.size() / nvml::kEntrySizes[0]) return std::nullopt;
    const std::size_t end = end_of_writing(buffer);
    const auto* const size = std::ranges::find_if(nvml::kEntrySizes, [&](std::size_t s) { return count * s == end; });
    if (size == std::end(nvml::kEntrySizes)) return std::nullopt;
    for (std::size_t i = 0; i < count; ++i) {
        const auto entry = buffer.subspan(i * *size, *size);
        const auto pid = value_at<std::uint32_t>(entry, 0);
        const auto used = value_at<std::uint64_t>(entry, nvml::kUsedAt);
        if (pid == 0 || pid > static_cast<std::uint32_t>(std::numeric_limits<pid_t>::max())) continue;
        holders.push_back({.pid = static_cast<pid_t>(pid),
                           .used = used == nvml::kUsedUnknown ? std::nullopt : std::optional(Bytes{used})});
    }
    return holders;
}

std::string nvml_text(std::span<const char> written) {
    const auto end = std::ranges::find(written, '\0');
    return printable({written.data(), static_cast<std::size_t>(end - written.begin())});
}

namespace {

constexpr unsigned kMostDevices = 256;
constexpr unsigned kMostParts = 32;  // MIG devices per GPU; today there are at most 7
constexpr std::size_t kMostProcesses = 4096;
constexpr std::size_t kUsualProcesses = 64;
constexpr int kMostErrors = 64;         // handled in one read; the others wait for the next read
constexpr std::size_t kFindEvery = 30;  // reads between two searches: MIG devices can be created and destroyed
constexpr std::uint64_t kTooMuch = std::uint64_t{1} << 60U;  // bytes; a larger size is invalid

using Holders = std::map<pid_t, std::optional<Bytes>>;

std::optional<Bytes> sensible(std::uint64_t bytes) {
    return bytes < kTooMuch ? std::optional(Bytes{bytes}) : std::nullopt;
}

}  // namespace

Result<Nvml> Nvml::start(const NvmlLibrary& library) {
    const NvmlCalls& calls = library.calls();
    if (!calls.init || !calls.device_count || !calls.device_at || !calls.uuid)
        return plain_error("the library lacks a function that is needed to find GPUs");
    if (const int code = calls.init(); code != nvml::kSuccess) return plain_error(nvml_error_text(code));
    Nvml nvml(calls);
    if (calls.make_event_set && calls.register_events && calls.wait_for_event &&
        calls.make_event_set(&nvml.events_) != nvml::kSuccess)
        nvml.events_ = nullptr;
    nvml.find_devices();
    return nvml;
}

Nvml::Nvml(Nvml&& other) noexcept
    : calls_(other.calls_),
      devices_(std::move(other.devices_)),
      events_(other.events_),
      buffer_(std::move(other.buffer_)),
      reads_(other.reads_),
      running_(std::exchange(other.running_, false)) {}

Nvml::~Nvml() {
    if (running_ && calls_.shutdown) (void)calls_.shutdown();
}

std::optional<Nvml::Found> Nvml::identify(nvml::Device handle, unsigned index) const {
    Found found{.handle = handle};
    found.known.index = index;
    std::array<char, nvml::kUuidSize> uuid{};
    if (calls_.uuid(handle, uuid.data(), uuid.size()) != nvml::kSuccess) return std::nullopt;
    found.known.id = nvml_text(uuid);
    if (found.known.id.empty()) return std::nullopt;  // an empty UUID cannot identify a device
    std::array<char, nvml::kNameSize> name{};
    if (calls_.name && calls_.name(handle, name.data(), name.size()) == nvml::kSuccess)
        found.known.name = nvml_text(name);
    nvml::PciInfo pci{};
    if (calls_.pci && calls_.pci(handle, &pci) == nvml::kSuccess) found.known.pci_bus_id = nvml_text(pci.bus_id);
    return found;
}

// A GPU stays in the list even if it is lost. A UUID that is already in the list is not added again.
void Nvml::find_devices() {
    unsigned count = 0;
    if (calls_.device_count(&count) != nvml::kSuccess) return;
    for (unsigned i = 0; i < std::min(count, kMostDevices); ++i) {
        const auto at = std::ranges::find(devices_, i, [](const Found& f) { return f.known.index; });
        if (at != devices_.end()) {
            find_parts(*at);
            continue;
        }
        nvml::Device handle = nullptr;
        if (calls_.device_at(i, &handle) != nvml::kSuccess) continue;
        auto found = identify(handle, i);
        if (!found || std::ranges::count(devices_, found->known.id, [](const Found& f) { return f.known.id; }) > 0)
            continue;
        follow_errors(*found);
        find_parts(*found);
        devices_.push_back(std::move(*found));
    }
    std::ranges::sort(devices_, {}, [](const Found& f) { return f.known.index; });
}

void Nvml::find_parts(Found& gpu) {
    unsigned current = 0;
    unsigned pending = 0;
    unsigned most = 0;
    gpu.parts.clear();
    if (!calls_.mig_mode || !calls_.most_mig_devices || !calls_.mig_device_at) return;
    if (calls_.mig_mode(gpu.handle, &current, &pending) != nvml::kSuccess || current == 0) return;
    if (calls_.most_mig_devices(gpu.handle, &most) != nvml::kSuccess) return;
    for (unsigned i = 0; i < std::min(most, kMostParts); ++i) {
        nvml::Device handle = nullptr;
        if (calls_.mig_device_at(gpu.handle, i, &handle) != nvml::kSuccess) continue;  // no MIG device has this index
        auto part = identify(handle, gpu.known.index);
        if (!part) continue;
        part->known.part_of = gpu.known.id;
        if (part->known.pci_bus_id.empty()) part->known.pci_bus_id = gpu.known.pci_bus_id;
        gpu.parts.push_back(std::move(*part));
    }
}

void Nvml::follow_errors(Found& gpu) {
    gpu.reports_errors = events_ && calls_.register_events(gpu.handle, nvml::kEventXid, events_) == nvml::kSuccess;
}

void Nvml::take_errors() {
    if (!events_) return;
    for (int i = 0; i < kMostErrors; ++i) {
        nvml::EventData event{};
        if (calls_.wait_for_event(events_, &event, 0) != nvml::kSuccess) return;
        const auto gpu = std::ranges::find(devices_, event.device, &Found::handle);
        if (gpu != devices_.end() && (event.type & nvml::kEventXid) != 0) ++gpu->xid_errors;
    }
}

int Nvml::read_memory(nvml::Device handle, GpuDevice& out) const {
    if (calls_.memory_v2) {
        nvml::MemoryV2 memory{};
        const int code = calls_.memory_v2(handle, &memory);
        if (code != nvml::kSuccess) return code;
        out.used = sensible(memory.used);
        out.free = sensible(memory.free);
        out.reserved = sensible(memory.reserved);
        out.total = sensible(memory.total);
    } else if (calls_.memory_v1) {
        nvml::MemoryV1 memory{};
        const int code = calls_.memory_v1(handle, &memory);
        if (code != nvml::kSuccess) return code;
        out.used = sensible(memory.used);
        out.free = sensible(memory.free);
        out.total = sensible(memory.total);
    }
    return nvml::kSuccess;
}

bool Nvml::add_processes(NvmlCalls::Processes call, nvml::Device handle, Holders& holders) {
    if (!call) return false;
    constexpr int kMostTries = 3;  // the number of processes may rise between two calls
    std::size_t room = std::max(buffer_.size() / nvml::kLargestEntry, kUsualProcesses);
    for (int i = 0; i < kMostTries; ++i) {
        buffer_.assign(room * nvml::kLargestEntry, kNvmlSentinel);
        auto count = static_cast<unsigned>(room);
        const int code = call(handle, &count, buffer_.data());
        if (code == nvml::kInsufficientSize && count <= kMostProcesses && room < kMostProcesses) {
            room = std::min(std::max<std::size_t>(count, room) + kUsualProcesses, kMostProcesses);
            continue;
        }
        if (code != nvml::kSuccess || count > room) return false;
        const auto listed = parse_nvml_processes(buffer_, count);
        if (!listed) return false;
        for (const GpuHolder& holder :
             *listed) {  // a process that computes and draws is in both lists, with the same sum
            auto& used = holders[holder.pid];
            used = std::max(used, holder.used);
        }
        return true;
    }
    return false;
}

void Nvml::read_holders(nvml::Device handle, GpuDevice& out) {
    Holders holders;
    out.knows_holders = add_processes(calls_.compute_processes, handle, holders);
    (void)add_processes(calls_.graphics_processes, handle, holders);
    (void)add_processes(calls_.mps_processes, handle, holders);
    for (const auto& [pid, used] : holders) out.holders.push_back({pid, used});
}

GpuDevice Nvml::read_one(const Found& device) {
    GpuDevice out = device.known;
    const int code = read_memory(device.handle, out);
    if (code != nvml::kSuccess && code != nvml::kNotSupported && code != nvml::kNoPermission) {
        out.trouble = nvml_error_text(code);
        return out;  // a lost GPU fails in all other calls as well
    }
    nvml::Utilization utilization{};
    if (calls_.utilization && calls_.utilization(device.handle, &utilization) == nvml::kSuccess)
        out.utilization = std::min(1.0, utilization.gpu / 100.0);
    read_holders(device.handle, out);
    return out;
}

std::vector<GpuDevice> Nvml::read() {
    if (++reads_ % kFindEvery == 0) find_devices();
    take_errors();
    std::vector<GpuDevice> all;
    for (const Found& gpu : devices_) {
        all.push_back(read_one(gpu));
        if (gpu.reports_errors) all.back().xid_errors = gpu.xid_errors;
        const std::size_t whole = all.size() - 1;
        for (const Found& part : gpu.parts) {
            all.push_back(read_one(part));
            // A process in the list of a MIG device is in the list of the whole GPU as well.
            std::erase_if(all[whole].holders, [&](const GpuHolder& holder) {
                return std::ranges::count(all.back().holders, holder.pid, &GpuHolder::pid) > 0;
            });
        }
    }
    return all;
}

}  // namespace memscope
