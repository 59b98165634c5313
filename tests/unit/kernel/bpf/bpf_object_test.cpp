#include "kernel/bpf/bpf_object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cuda.skel.h"
#include "gpu_tensors.skel.h"
#include "host_tensors.skel.h"
#include "tree.skel.h"
#include "tree_plain.skel.h"

namespace memscope {
namespace bpf_object_test {

using testing::HasSubstr;
using testing::Not;

constexpr BpfObject<tree_bpf>::Code kCode{tree_bpf__create_skeleton, tree_plain_bpf__elf_bytes};

// Makes libbpf warn about an object that is not an object of the tests.
void fail_with_another_object() {
    capture_libbpf_messages();
    forget_libbpf_message();
    const char garbage[] = "not an ELF file";
    ASSERT_EQ(bpf_object__open_mem(garbage, sizeof garbage, nullptr), nullptr);
    ASSERT_THAT(load_error("another", EINVAL).message(), HasSubstr("(libbpf: "));
}

TEST(BpfObject, ALoadErrorDoesNotContainTheMessageOfAnotherObject) {
    fail_with_another_object();
    FeatureSettings settings;
    settings.shared["members"] = -1;  // no map: libbpf refuses it without a message
    const auto object = BpfObject<tree_bpf>::load("tree", kCode, settings, {});
    ASSERT_FALSE(object);
    EXPECT_THAT(object.error().message(), HasSubstr("load the BPF object 'tree'"));
    EXPECT_THAT(object.error().message(), Not(HasSubstr("libbpf: ")));
}

TEST(BpfObject, AnAttachErrorContainsItsOwnMessage) {
    fail_with_another_object();
    tree_bpf* skeleton = tree_bpf__open();  // not loaded, so libbpf refuses to attach its programs
    ASSERT_TRUE(skeleton);
    const char* program = bpf_program__name(bpf_object__next_program(skeleton->obj, nullptr));
    const auto links = attach(skeleton->obj, {program});
    ASSERT_FALSE(links);
    EXPECT_THAT(links.error().message(),
                HasSubstr("attach the BPF program '" + std::string(program) + "' (libbpf: prog"));
    EXPECT_THAT(links.error().message(), HasSubstr("before loaded"));
    tree_bpf__destroy(skeleton);
}

// Kernels before 6.1 warn if a program at a user probe uses a map whose entries are allocated at run time.
std::vector<std::string> maps_without_memory(bpf_object* object) {
    preallocate(object);
    std::vector<std::string> names;
    const bpf_map* map = nullptr;
    bpf_object__for_each_map(map, object) {
        if ((bpf_map__map_flags(map) & BPF_F_NO_PREALLOC) != 0) names.emplace_back(bpf_map__name(map));
    }
    return names;
}

template <class Skeleton>
std::vector<std::string> maps_without_memory(Skeleton* (*open)(), void (*destroy)(Skeleton*)) {
    Skeleton* skeleton = open();
    if (!skeleton) return {"the object cannot be opened"};
    auto names = maps_without_memory(skeleton->obj);
    destroy(skeleton);
    return names;
}

TEST(BpfObject, ObjectsOfUserProbesHaveMemoryForAllMapsBeforeTheyAreLoaded) {
    using testing::IsEmpty;
    EXPECT_THAT(maps_without_memory<cuda_bpf>(cuda_bpf__open, cuda_bpf__destroy), IsEmpty());
    EXPECT_THAT(maps_without_memory<gpu_tensors_bpf>(gpu_tensors_bpf__open, gpu_tensors_bpf__destroy), IsEmpty());
    EXPECT_THAT(maps_without_memory<host_tensors_bpf>(host_tensors_bpf__open, host_tensors_bpf__destroy), IsEmpty());
}

}  // namespace bpf_object_test
}  // namespace memscope
