#include "kernel/bpf/bpf_object.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "base/files.h"
#include "base/text.h"

namespace memscope {
namespace {

std::string& libbpf_message() {
    static std::string text;
    return text;
}

// The reason of the verifier is the last line of its log before "processed 35 insns ...".
std::string verifier_reason(std::string_view log) {
    std::string_view reason;
    bool ended = false;
    for_each_line(log, [&](std::string_view line) {
        ended = ended || line.starts_with("processed ") || line.starts_with("-- END");
        if (!ended && !trimmed(line).empty()) reason = trimmed(line);
    });
    return shortened(reason);
}

int keep_message(libbpf_print_level level, const char* format, va_list arguments) {
    constexpr std::size_t kMostBytes = std::size_t{1} << 20;
    if (level != LIBBPF_WARN) return 0;
    va_list again;
    va_copy(again, arguments);
    const int length = std::vsnprintf(nullptr, 0, format, again);
    va_end(again);
    if (length <= 0) return 0;
    std::string text(std::min(static_cast<std::size_t>(length) + 1, kMostBytes), '\0');
    (void)std::vsnprintf(text.data(), text.size(), format, arguments);
    text.pop_back();
    // The first warning names what failed, and the verifier log has the reason. Later warnings only repeat them.
    if (libbpf_message().empty())
        libbpf_message() = std::string(trimmed(text.substr(0, text.find('\n'))));
    else if (text.find("BEGIN PROG LOAD LOG") != std::string::npos)
        libbpf_message() += ": " + verifier_reason(text);
    return 0;
}

Error with_message(int error, const std::string& what) {
    const std::string message = libbpf_message().empty() ? "" : " (" + libbpf_message() + ")";
    return system_error(error, what + message, "`memscope doctor` shows what this kernel offers");
}

// Kernel memory of one entry of a hash map.
std::uint64_t entry_bytes(const bpf_map* map) {
    constexpr std::uint64_t kOverhead = 48;
    const auto rounded = [](std::uint64_t bytes) { return (bytes + 7) / 8 * 8; };
    return kOverhead + rounded(bpf_map__key_size(map)) + rounded(bpf_map__value_size(map));
}

// Maps that programs at user probes use, with the memory to preallocate for each. Their entries are otherwise allocated
// while the programs run.
struct AtUserProbes {
    const char* map;
    std::uint64_t most_bytes;
};
constexpr std::uint64_t kMiB = 1U << 20U;
constexpr AtUserProbes kAtUserProbes[] = {
    {"targets", 2 * kMiB},        {"members", 2 * kMiB},       {"spaces", 2 * kMiB},
    {"more_stacks", 2 * kMiB},    {"interpreters", 2 * kMiB},  {"cuda_failures", 2 * kMiB},
    {"cuda_processes", 2 * kMiB}, {"cuda_accounts", 2 * kMiB}, {"cuda_sites", 2 * kMiB},
    {"cuda_calls", 2 * kMiB},     {"cuda_live", 16 * kMiB},    {"gpu_tensor_processes", 2 * kMiB},
    {"gpu_tensors", 16 * kMiB},   {"host_accounts", 2 * kMiB}, {"host_failures", 2 * kMiB},
    {"host_sites", 2 * kMiB},     {"host_calls", 3 * kMiB},    {"host_storages", 16 * kMiB},
};

constexpr const char* kLossWords[] = {
#define X(slot, word) word,
    MS_LOSSES(X)
#undef X
};

}  // namespace

void capture_libbpf_messages() { libbpf_set_print(keep_message); }

// Before 6.1 the kernel logs a warning and taints itself if a program at a user probe uses maps that are allocated at
// run time.
void preallocate(bpf_object* object) {
    for (const auto& [name, most_bytes] : kAtUserProbes) {
        bpf_map* map = bpf_object__find_map_by_name(object, name);
        if (!map) continue;
        const auto room = static_cast<__u32>(most_bytes / entry_bytes(map));
        (void)bpf_map__set_map_flags(map, bpf_map__map_flags(map) & ~static_cast<__u32>(BPF_F_NO_PREALLOC));
        (void)bpf_map__set_max_entries(map, std::min(bpf_map__max_entries(map), room));
    }
}

bool share_maps(bpf_object* object, const SharedMaps& shared) {
    for (const auto& [name, fd] : shared)
        if (bpf_map* map = bpf_object__find_map_by_name(object, name.c_str()); map && bpf_map__reuse_fd(map, fd) != 0)
            return false;
    return true;
}

SharedMaps maps_of(bpf_object* object, std::initializer_list<const char*> names) {
    SharedMaps maps;
    for (const char* name : names)
        if (const int fd = bpf_object__find_map_fd_by_name(object, name); fd >= 0) maps[name] = fd;
    return maps;
}

void load_only(bpf_object* object, const std::vector<std::string_view>& programs) {
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, object) {
        const std::string_view name = bpf_program__name(program);
        bpf_program__set_autoload(program, std::find(programs.begin(), programs.end(), name) != programs.end());
    }
}

void forget_libbpf_message() { libbpf_message().clear(); }

Error load_error(std::string_view feature, int error) {
    return with_message(error, "load the BPF object '" + std::string(feature) + "'");
}

Result<std::vector<Link>> attach(bpf_object* object, const std::vector<std::string_view>& programs) {
    forget_libbpf_message();
    std::vector<Link> links;
    for (const std::string_view name : programs) {
        bpf_program* program = bpf_object__find_program_by_name(object, std::string(name).c_str());
        if (!program) return plain_error("no BPF program '" + std::string(name) + "'");
        Link link(bpf_program__attach(program));
        if (!link) return with_message(errno, "attach the BPF program '" + std::string(name) + "'");
        links.push_back(std::move(link));
    }
    return links;
}

Losses read_losses(const __u64 (&counted)[MS_LOSS_COUNT]) {
    Losses losses;
    for (std::size_t slot = 0; slot < MS_LOSS_COUNT; ++slot)  // volatile: the kernel writes them meanwhile
        losses[kLossWords[slot]] = *const_cast<const volatile __u64*>(&counted[slot]);
    return losses;
}

Bytes map_bytes(bpf_object* object, const SharedMaps& of_others) {
    constexpr std::string_view kKey = "memlock:";
    Bytes sum;
    bpf_map* map = nullptr;
    bpf_object__for_each_map(map, object) {
        if (of_others.contains(bpf_map__name(map))) continue;
        const auto info = read_file("/proc/self/fdinfo/" + std::to_string(bpf_map__fd(map)), 4096);
        if (!info) continue;
        for_each_line(*info, [&](std::string_view line) {
            if (!line.starts_with(kKey)) return;
            if (const auto bytes = parse_number(trimmed(line.substr(kKey.size())))) sum += Bytes{*bytes};
        });
    }
    return sum;
}

}  // namespace memscope
