#include "kernel/detacher.h"

#include <chrono>

namespace memscope {

void Detacher::let_go(std::vector<Link> links) {
    std::erase_if(under_way_, [](const std::future<void>& one) {
        return one.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
    if (links.empty()) return;
    under_way_.push_back(std::async(std::launch::async, [](std::vector<Link> all) { all.clear(); }, std::move(links)));
}

}  // namespace memscope
