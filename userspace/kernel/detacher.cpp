#include "kernel/detacher.h"

#include <chrono>
#include <thread>

namespace memscope {
namespace {

constexpr std::size_t kAtOnce = 16;  // they wait for the same thing

void destroy_all(std::vector<Link> links) {
    std::vector<std::vector<Link>> shares(std::min(kAtOnce, links.size()));
    for (std::size_t i = 0; i < links.size(); ++i) shares[i % shares.size()].push_back(std::move(links[i]));
    std::vector<std::thread> threads;
    threads.reserve(shares.size());
    for (std::vector<Link>& share : shares) threads.emplace_back([&share] { share.clear(); });
    for (std::thread& thread : threads) thread.join();
}

}  // namespace

void Detacher::let_go(std::vector<Link> links) {
    std::erase_if(under_way_, [](const std::future<void>& one) {
        return one.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
    if (links.empty()) return;
    under_way_.push_back(std::async(std::launch::async, destroy_all, std::move(links)));
}

}  // namespace memscope
