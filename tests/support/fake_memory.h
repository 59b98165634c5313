#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace memscope {

// Memory of a fake process: pieces at addresses, nothing between them.
class FakeMemory {
  public:
    void put(std::uint64_t address, std::string_view bytes) { pieces_[address].assign(bytes.begin(), bytes.end()); }
    template <class T>
    void put_value(std::uint64_t address, T value) {
        put(address, {reinterpret_cast<const char*>(&value), sizeof value});
    }

    // Reads across pieces that touch; for ProcessMemory.
    Status operator()(std::uint64_t address, std::span<std::byte> into) const {
        while (!into.empty()) {
            auto piece = pieces_.upper_bound(address);
            if (piece == pieces_.begin()) return system_error(EFAULT, "read fake memory");
            --piece;
            const std::uint64_t skipped = address - piece->first;
            if (skipped >= piece->second.size()) return system_error(EFAULT, "read fake memory");
            const std::size_t n = std::min<std::size_t>(into.size(), piece->second.size() - skipped);
            std::memcpy(into.data(), piece->second.data() + skipped, n);
            address += n;
            into = into.subspan(n);
        }
        return Done{};
    }

  private:
    std::map<std::uint64_t, std::vector<char>> pieces_{};
};

}  // namespace memscope
