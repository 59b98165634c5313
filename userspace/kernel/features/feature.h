#pragma once
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "kernel/handles.h"
#include <memscope/shared/stacks.h>
#include <memscope/shared/wire.h>

namespace memscope {

// What every BPF object of ours needs, whichever signal it carries.

using SharedMaps = std::map<std::string, int>;  // name in every object that has it, descriptor

struct FeatureSettings {
    bool memory_on_v1 = false;
    unsigned watcher_pid = 0;
    unsigned spawner_pid = 0;  // of the watcher's helpers; 0: it has none
    bool follow_mappings = false;
    bool follow_ranges = false;
    bool follow_descendants = false;
    bool atomic_exchange = true;
    bool many_user_probes = false;
    bool allocates_at_probes = true;
    bool follow_growth = false;
    std::uint32_t gpu_live = 0;  // CUDA allocations there is room for; 0: as many as there should be
    std::uint32_t tensors = 0;   // tensors there is room for; the same
    SharedMaps shared{};         // made by other objects already
};

inline std::uint32_t page_bytes() { return static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE)); }

// The object of the skeleton, or for kernels without atomic exchange the plain one: it has the same maps, programs and
// data, so that the same skeleton opens it.
template <class Skeleton>
Skeleton* open_object(const FeatureSettings& settings, int (*create)(Skeleton*), void (*destroy)(Skeleton*),
                      const void* (*plain_code)(std::size_t*)) {
    auto* skeleton = static_cast<Skeleton*>(std::calloc(1, sizeof(Skeleton)));  // destroy() frees it
    if (!skeleton) return nullptr;
    int error = create(skeleton);
    if (error == 0 && !settings.atomic_exchange)
        skeleton->skeleton->data = const_cast<void*>(plain_code(&skeleton->skeleton->data_sz));
    if (error == 0) error = bpf_object__open_skeleton(skeleton->skeleton, nullptr);
    if (error == 0) return skeleton;
    destroy(skeleton);
    errno = -error;
    return nullptr;
}

// Gives the maps that programs at user probes use all their room at once, and less of it.
void preallocate(bpf_object* object);

// Puts the settings into the read-only data of a skeleton that has them, and its maps into shape.
template <class Skeleton>
void apply_settings(Skeleton& skeleton, const FeatureSettings& settings) {
    if constexpr (requires { skeleton.rodata->memory_on_v1; }) {
        skeleton.rodata->memory_on_v1 = settings.memory_on_v1;
        skeleton.rodata->watcher_pid = settings.watcher_pid;
        skeleton.rodata->spawner_pid = settings.spawner_pid;
        skeleton.rodata->follow_descendants = settings.follow_descendants;
    }
    if constexpr (requires { skeleton.rodata->follow_mappings; })
        skeleton.rodata->follow_mappings = settings.follow_mappings;
    if constexpr (requires { skeleton.maps.ranges; }) {
        skeleton.rodata->follow_ranges = settings.follow_ranges;
        // What nobody writes need not be large.
        if (!settings.follow_ranges) bpf_map__set_max_entries(skeleton.maps.ranges, page_bytes());
    }
    if constexpr (requires { skeleton.rodata->follow_growth; }) {
        skeleton.rodata->follow_growth = settings.follow_growth;
        if (!settings.follow_growth) {
            for (bpf_map* map : {skeleton.maps.known_stacks, skeleton.maps.known_codes, skeleton.maps.python_threads})
                bpf_map__set_max_entries(map, 1);
            bpf_map__set_max_entries(skeleton.maps.stack_events, page_bytes());
        }
    }
    if constexpr (requires { skeleton.rodata->step_pages; })
        skeleton.rodata->step_pages = std::max<std::int64_t>(MS_GROWTH_STEP_BYTES / page_bytes(), 1);
    if constexpr (requires { skeleton.rodata->page_bytes; }) skeleton.rodata->page_bytes = page_bytes();
    if (!settings.allocates_at_probes) preallocate(skeleton.obj);
}

// Uses the maps of other objects instead of own ones, before loading.
bool share_maps(bpf_object* object, const SharedMaps& shared);
// Those of a loaded object, to be shared with the next.
SharedMaps maps_of(bpf_object* object, std::initializer_list<const char*> names);

// Only the chosen programs are loaded: the others may not suit this kernel.
void load_only(bpf_object* object, const std::vector<std::string_view>& programs);
// "load the BPF object 'tree': Permission denied; <what the kernel said>"
Error load_error(std::string_view signal, int error);
// Attaches the chosen programs; all or nothing.
Result<std::vector<Link>> attach(bpf_object* object, const std::vector<std::string_view>& programs);

using Losses = std::map<std::string, std::uint64_t>;  // by reason, every reason present
Losses read_losses(const __u64 (&counted)[MS_LOSS_COUNT]);
// Kernel memory of its maps; those that another object has made are counted there.
Bytes map_bytes(bpf_object* object, const SharedMaps& of_others = {});

// libbpf speaks through here instead of standard error; the last words are part of load_error().
void capture_libbpf_messages();

}  // namespace memscope
