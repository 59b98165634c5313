#include "kernel/signal.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "base/files.h"
#include "base/text.h"
#include <memscope/shared/wire.h>

namespace memscope {
namespace {

std::string& last_words() {
    static std::string text;
    return text;
}

int keep_message(libbpf_print_level level, const char* format, va_list arguments) {
    if (level != LIBBPF_WARN) return 0;
    char line[512];
    const int length = std::vsnprintf(line, sizeof line, format, arguments);
    // The first warning names the cause; what follows is its echo through the layers.
    if (length > 0 && last_words().empty()) last_words() = std::string(trimmed(line));
    return 0;
}

constexpr const char* kLossWords[] = {
#define X(slot, word) word,
    MS_LOSSES(X)
#undef X
};

}  // namespace

void capture_libbpf_messages() { libbpf_set_print(keep_message); }

void load_only(bpf_object* object, const std::vector<std::string_view>& programs) {
    last_words().clear();
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, object) {
        const std::string_view name = bpf_program__name(program);
        bpf_program__set_autoload(program, std::find(programs.begin(), programs.end(), name) != programs.end());
    }
}

Error load_error(std::string_view signal, int error) {
    const std::string words = last_words().empty() ? "" : " (" + last_words().substr(0, last_words().find('\n')) + ")";
    return system_error(error, "load the BPF object '" + std::string(signal) + "'" + words,
                        "`memscope doctor` shows what this kernel offers");
}

Result<std::vector<Link>> attach(bpf_object* object, const std::vector<std::string_view>& programs) {
    std::vector<Link> links;
    for (const std::string_view name : programs) {
        bpf_program* program = bpf_object__find_program_by_name(object, std::string(name).c_str());
        if (!program) return plain_error("no BPF program '" + std::string(name) + "'");
        Link link(bpf_program__attach(program));
        if (!link)
            return system_error(errno, "attach the BPF program '" + std::string(name) + "'",
                                "`memscope doctor` shows what this kernel offers");
        links.push_back(std::move(link));
    }
    return links;
}

Losses read_losses(int losses_map) {
    Losses losses;
    std::vector<__u64> per_cpu(static_cast<std::size_t>(std::max(libbpf_num_possible_cpus(), 1)));
    for (__u32 slot = 0; slot < MS_LOSS_COUNT; ++slot) {
        std::uint64_t& sum = losses[kLossWords[slot]];
        if (bpf_map_lookup_elem(losses_map, &slot, per_cpu.data()) != 0) continue;
        for (const __u64 part : per_cpu) sum += part;
    }
    return losses;
}

Bytes map_bytes(bpf_object* object, bool with_shared) {
    constexpr std::string_view kKey = "memlock:";
    Bytes sum;
    bpf_map* map = nullptr;
    bpf_object__for_each_map(map, object) {
        const std::string_view name = bpf_map__name(map);
        if (!with_shared && (name == "targets" || name == "members" || name == "mappings")) continue;
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
