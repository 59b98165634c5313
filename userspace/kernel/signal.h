#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "kernel/handles.h"

namespace memscope {

// What every BPF object of ours needs, whichever signal it carries.

struct SignalSettings {
    bool memory_on_v1 = false;
    unsigned watcher_pid = 0;
    int targets_map = -1;  // the map of watched cgroups another object has made already; -1: make it
};

// Only the chosen programs are loaded: the others may not suit this kernel.
void load_only(bpf_object* object, const std::vector<std::string_view>& programs);
// "load the BPF object 'tree': Permission denied; <what the kernel said>"
Error load_error(std::string_view signal, int error);
// Attaches the chosen programs; all or nothing.
Result<std::vector<Link>> attach(bpf_object* object, const std::vector<std::string_view>& programs);

using Losses = std::map<std::string, std::uint64_t>;  // by reason, every reason present
Losses read_losses(int losses_map);
Bytes map_bytes(bpf_object* object);  // kernel memory of its maps

// libbpf speaks through here instead of standard error; the last words are part of load_error().
void capture_libbpf_messages();

}  // namespace memscope
