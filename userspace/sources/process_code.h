#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "sources/process_maps.h"

namespace memscope {

class Module;

// What of a process's address space can hold code, and where else there is memory.
class ProcessCode {
  public:
    struct Range {
        MappedRange mapped{};
        std::uint64_t headers = 0;         // where the beginning of its file is mapped; 0: nowhere
        std::shared_ptr<Module> module{};  // once it was asked for
    };

    ProcessCode() = default;
    explicit ProcessCode(ProcessMaps maps);

    Range* at(std::uint64_t address);             // executable ranges only
    bool is_mapped(std::uint64_t address) const;  // any
    std::size_t size() const { return code_.size() + others_.size(); }

  private:
    struct Stretch {
        std::uint64_t start = 0;
        std::uint64_t end = 0;
    };
    std::vector<Range> code_{};
    std::vector<Stretch> others_{};  // what lies next to each other is one
};

}  // namespace memscope
