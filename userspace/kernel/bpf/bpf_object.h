#pragma once
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "kernel/bpf/handles.h"
#include "kernel/kernel_feature.h"
#include <memscope/shared/stacks.h>
#include <memscope/shared/wire.h>

namespace memscope {

// Loads and attaches BPF objects. Only features use this header, because only they include a skeleton.

// Preallocates the maps that programs at user probes use, and makes them smaller.
void preallocate(bpf_object* object);

// Writes the settings to the read-only data of a skeleton, and adapts the sizes of its maps.
template <class Skeleton>
void apply_settings(Skeleton& skeleton, const FeatureSettings& settings) {
    if constexpr (requires { skeleton.rodata->memory_on_v1; }) {
        skeleton.rodata->memory_on_v1 = settings.memory_on_v1;
        skeleton.rodata->watcher_pid = settings.watcher_pid;
        skeleton.rodata->spawner_pid = static_cast<unsigned>(settings.spawner);
        skeleton.rodata->follow_descendants = settings.follow_descendants;
    }
    if constexpr (requires { skeleton.rodata->follow_mappings; })
        skeleton.rodata->follow_mappings = settings.follow_mappings;
    if constexpr (requires { skeleton.maps.ranges; }) {
        skeleton.rodata->follow_ranges = settings.follow_ranges;
        // Smallest size, because no program writes to it.
        if (!settings.follow_ranges) bpf_map__set_max_entries(skeleton.maps.ranges, static_cast<__u32>(page_bytes()));
    }
    if constexpr (requires { skeleton.rodata->follow_growth; }) {
        skeleton.rodata->follow_growth = settings.follow_growth;
        if (!settings.follow_growth) {
            for (bpf_map* map : {skeleton.maps.known_stacks, skeleton.maps.known_codes, skeleton.maps.python_threads})
                bpf_map__set_max_entries(map, 1);
            bpf_map__set_max_entries(skeleton.maps.stack_events, static_cast<__u32>(page_bytes()));
        }
    }
    if constexpr (requires { skeleton.rodata->sample_pages; })
        skeleton.rodata->sample_pages =
            std::max<std::int64_t>(MS_SAMPLE_BYTES / static_cast<std::int64_t>(page_bytes()), 1);
    if constexpr (requires { skeleton.rodata->page_bytes; }) skeleton.rodata->page_bytes = page_bytes();
    if (!settings.allocates_at_probes) preallocate(skeleton.obj);
}

// Makes an object use maps of other objects instead of its own. Call this before loading.
bool share_maps(bpf_object* object, const SharedMaps& shared);
// Maps of a loaded object that later objects are to share.
SharedMaps maps_of(bpf_object* object, std::initializer_list<const char*> names);

// Loads only the chosen programs, because this kernel may reject the others.
void load_only(bpf_object* object, const std::vector<std::string_view>& programs);
// The errors of loading and attaching contain the message of libbpf since this call, so that they do not show the
// message of another object.
void forget_libbpf_message();
// "load the BPF object 'tree' (<message of libbpf>): Permission denied; <advice>"
Error load_error(std::string_view feature, int error);
// Attaches the chosen programs; all or nothing.
Result<std::vector<Link>> attach(bpf_object* object, const std::vector<std::string_view>& programs);

Losses read_losses(const __u64 (&counted)[MS_LOSS_COUNT]);
// Kernel memory of the maps of an object, without maps that another object has created.
Bytes map_bytes(bpf_object* object, const SharedMaps& of_others = {});

// Keeps the warnings of libbpf for these errors instead of printing them to standard error.
void capture_libbpf_messages();

// A loaded BPF object. Skeletons have no base class, so their generated functions for opening are parameters. Loading
// and destroying is the same for all.
template <class Skeleton>
class BpfObject {
  public:
    // The code of the skeleton, and the plain code for kernels without atomic exchange. Both have the same maps,
    // programs and data, so the same skeleton opens either.
    struct Code {
        int (*create)(Skeleton*);
        const void* (*plain)(std::size_t*);
    };

    // `prepare` gets the opened skeleton before it is loaded.
    template <class Prepare>
    static Result<BpfObject> load(std::string_view feature, Code code, const FeatureSettings& settings,
                                  const std::vector<std::string_view>& programs, Prepare prepare) {
        forget_libbpf_message();
        BpfObject object;
        if (const int error = object.open(code, settings.atomic_exchange)) return load_error(feature, -error);
        apply_settings(*object.skeleton_, settings);
        if (!share_maps(object.object(), settings.shared)) return load_error(feature, errno);
        load_only(object.object(), programs);
        prepare(*object.skeleton_);
        if (const int error = bpf_object__load_skeleton(object->skeleton)) return load_error(feature, -error);
        object.of_others_ = settings.shared;
        return object;
    }
    static Result<BpfObject> load(std::string_view feature, Code code, const FeatureSettings& settings,
                                  const std::vector<std::string_view>& programs) {
        return load(feature, code, settings, programs, [](Skeleton&) {});
    }

    Status attach(const std::vector<std::string_view>& programs) {
        auto links = memscope::attach(object(), programs);
        if (!links) return links.error();
        links_ = std::move(*links);
        return Done{};
    }
    void detach() { links_.clear(); }

    Skeleton* operator->() const { return skeleton_.get(); }
    bpf_object* object() const { return skeleton_->obj; }
    bpf_program* program(std::string_view name) const {
        return bpf_object__find_program_by_name(object(), std::string(name).c_str());
    }
    const std::vector<Link>& links() const { return links_; }
    Losses losses() const { return read_losses(skeleton_->bss->losses); }
    Bytes map_memory() const { return map_bytes(object(), of_others_); }

  private:
    struct Destroy {
        void operator()(Skeleton* skeleton) const {
            bpf_object__destroy_skeleton(skeleton->skeleton);
            std::free(skeleton);
        }
    };

    int open(Code code, bool atomic_exchange) {
        skeleton_.reset(static_cast<Skeleton*>(std::calloc(1, sizeof(Skeleton))));
        if (!skeleton_) return -ENOMEM;
        if (const int error = code.create(skeleton_.get())) return error;
        bpf_object_skeleton* skeleton = skeleton_->skeleton;
        if (!atomic_exchange) skeleton->data = const_cast<void*>(code.plain(&skeleton->data_sz));
        return bpf_object__open_skeleton(skeleton, nullptr);
    }

    std::unique_ptr<Skeleton, Destroy> skeleton_{};
    std::vector<Link> links_{};
    SharedMaps of_others_{};  // maps that other objects have created
};

}  // namespace memscope
