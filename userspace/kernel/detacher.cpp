#include "kernel/detacher.h"

#include <chrono>

namespace memscope {

void Detacher::let_go(std::vector<UserProbe> probes) {
    std::erase_if(under_way_, [](const std::future<void>& one) {
        return one.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
    if (probes.empty()) return;
    under_way_.push_back(
        std::async(std::launch::async, [](std::vector<UserProbe> all) { all.clear(); }, std::move(probes)));
}

}  // namespace memscope
