#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

// Logs what SQLite writes and syncs, and makes the files that a power cut could leave behind.
namespace memscope::test {

namespace fs = std::filesystem;

class PowerCut {
  public:
    // From here on, all databases that this process opens in `directory` are logged. One object at a time.
    explicit PowerCut(fs::path directory);
    ~PowerCut();
    PowerCut(const PowerCut&) = delete;
    PowerCut& operator=(const PowerCut&) = delete;

    // Number of writes, truncations, syncs and removals so far.
    std::size_t operations() const { return log_.size(); }
    // Number of syncs that were asked for among the operations from `first` on.
    std::size_t syncs(std::size_t first = 0) const;

    // Writes the files to the directory `to` as they may be if the power fails after the first `count` operations. Each
    // file has everything until its last sync, and any of the sectors that were written after that.
    void restore(std::size_t count, std::mt19937& random, const fs::path& to) const;

    enum class Kind { write, truncate, sync, remove };
    struct Operation {
        Kind kind{};
        std::string file{};       // name without directory
        std::int64_t offset = 0;  // of a truncation: the new size
        std::string bytes{};
    };
    bool is_logged(const char* path) const;
    void add(Operation operation) { log_.push_back(std::move(operation)); }

  private:
    fs::path directory_;
    std::vector<Operation> log_{};
};

}  // namespace memscope::test
