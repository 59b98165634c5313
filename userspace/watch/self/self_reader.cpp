#include "watch/self/self_reader.h"

#include "sources/proc/procfs.h"

namespace memscope {

SelfSample SelfReader::read(const SysRoot& root, const std::function<Bytes()>& map_memory, std::uint64_t now_ns) {
    constexpr std::uint64_t kAllEveryNs = 10'000'000'000;
    const bool all = !last_ || now_ns - all_read_ns_ >= kAllEveryNs;
    SelfSample self;
    if (auto usage = read_self(root, all ? std::nullopt : last_)) self = std::move(*usage);
    if (all) all_read_ns_ = now_ns;
    self.bpf_maps = all ? map_memory() : last_->bpf_maps;
    last_ = self;
    return self;
}

}  // namespace memscope
