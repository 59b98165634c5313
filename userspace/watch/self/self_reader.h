#pragma once
#include <cstdint>
#include <functional>
#include <optional>

#include "base/files.h"
#include "model/snapshot.h"

namespace memscope {

// Reads the resources that memscope itself uses. The size of its BPF maps and its open files change little
// and are slow to read, so they are read only every 10 s.
class SelfReader {
  public:
    SelfSample read(const SysRoot& root, const std::function<Bytes()>& map_memory, std::uint64_t now_ns);

  private:
    std::optional<SelfSample> last_{};
    std::uint64_t all_read_ns_ = 0;  // boot clock: when the slow values were read
};

}  // namespace memscope
