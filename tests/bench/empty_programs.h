#pragma once
#include <bpf/libbpf.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <sys/types.h>
#include <vector>

namespace memscope {

// The raw tracepoints that a running watcher is attached to.
inline std::set<std::string> hooks_of(pid_t pid) {
    std::set<std::string> hooks;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fdinfo")) {
        std::ifstream info(entry.path());
        for (std::string key, value; info >> key >> value;)
            if (key == "tp_name:") hooks.insert(value);
    }
    return hooks;
}

// One empty program on each hook: the least that any tool on these hooks costs.
class EmptyPrograms {
  public:
    explicit EmptyPrograms(const std::set<std::string>& hooks) {
        for (const std::string& hook : hooks) {
            bpf_object* object = bpf_object__open_file(EMPTY_PROGRAM, nullptr);
            bpf_program* program = object ? bpf_object__find_program_by_name(object, "empty") : nullptr;
            if (!program || bpf_program__set_attach_target(program, 0, hook.c_str()) != 0 ||
                bpf_object__load(object) != 0)
                throw std::runtime_error("cannot load an empty program for " + hook);
            objects_.emplace_back(object);
            links_.emplace_back(bpf_program__attach(program));
            if (!links_.back()) throw std::runtime_error("cannot attach an empty program to " + hook);
        }
    }

  private:
    struct Close {
        void operator()(bpf_object* object) const { bpf_object__close(object); }
        void operator()(bpf_link* link) const { bpf_link__destroy(link); }
    };
    std::vector<std::unique_ptr<bpf_object, Close>> objects_;
    std::vector<std::unique_ptr<bpf_link, Close>> links_;
};

}  // namespace memscope
