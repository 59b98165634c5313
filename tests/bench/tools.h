#pragma once
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "bench/empty_programs.h"
#include "bench/program.h"

namespace memscope {

namespace fs = std::filesystem;

inline std::string text_of(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

// A directory for files of the tools, removed at the end.
class Scratch {
  public:
    Scratch() {
        std::string name = fs::temp_directory_path() / "memscope-bench-XXXXXX";
        if (!::mkdtemp(name.data())) throw std::runtime_error("no directory for temporary files");
        path_ = name;
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() { fs::remove_all(path_); }
    fs::path operator/(const char* name) const { return path_ / name; }
    // Whether there is a non-empty file of that name, with any extension.
    bool has(const std::string& name) const {
        for (const auto& entry : fs::directory_iterator(path_))
            if (entry.path().stem() == name && entry.file_size() > 0) return true;
        return false;
    }

  private:
    fs::path path_;
};

// A tool that runs while the workloads are measured. Its constructor throws, with the output of the tool, if the tool
// cannot run.
class Tool {
  public:
    virtual ~Tool() = default;
    virtual double cpu_ms() const { return 0; }  // CPU time of the tool itself, outside of the workload
    virtual void check() {}                      // at the end: throws if the tool has recorded nothing
};

class EmptyTool : public Tool {
  public:
    explicit EmptyTool(const std::set<std::string>& hooks) : programs_(hooks) {}

  private:
    EmptyPrograms programs_;
};

class MemscopeTool : public Tool {
  public:
    explicit MemscopeTool(const std::string& cgroup, const std::vector<std::string>& more = {},
                          const std::string& program = MEMSCOPE_PROGRAM)
        : watcher_(cgroup, more, program) {
        if (!watcher_.watches()) throw std::runtime_error("memscope does not watch");
    }
    double cpu_ms() const override { return watcher_.program().cpu_ms(); }
    std::set<std::string> hooks() { return hooks_of(watcher_.program().pid()); }

  private:
    Watcher watcher_;
};

// perf and bpftrace. They are ready when they have opened the counters of page faults.
class CounterTool : public Tool {
  public:
    CounterTool(const std::vector<std::string>& command, fs::path output)
        : output_(std::move(output)), program_(command, output_) {
        if (!eventually([this] { return program_.ended() || has_counter(); }) || program_.ended())
            throw std::runtime_error(text_of(output_));
        sleep_ms(500);  // the time from opening the first counter to the last
    }
    double cpu_ms() const override { return program_.cpu_ms(); }

  protected:
    std::string said() {
        program_.end();
        return text_of(output_);
    }

  private:
    bool has_counter() const {
        std::error_code gone;
        for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(program_.pid()) + "/fd", gone))
            if (fs::read_symlink(entry.path(), gone) == "anon_inode:[perf_event]") return true;
        return false;
    }
    fs::path output_;
    Program program_;
};

class PerfTool : public CounterTool {
  public:
    PerfTool(const Scratch& scratch, const std::vector<pid_t>& pids, const std::vector<std::string>& more)
        : CounterTool(command(scratch / "perf.data", pids, more), scratch / "perf.txt"), data_(scratch / "perf.data") {}
    void check() override {
        const std::string words = said();
        constexpr std::uintmax_t kEmpty = 64 * 1024;
        if (!fs::exists(data_) || fs::file_size(data_) < kEmpty)
            throw std::runtime_error("perf has recorded nothing: " + words);
    }

  private:
    static std::vector<std::string> command(const fs::path& data, const std::vector<pid_t>& pids,
                                            const std::vector<std::string>& more) {
        std::string list;
        for (const pid_t pid : pids) list += (list.empty() ? "" : ",") + std::to_string(pid);
        std::vector<std::string> words = {"/usr/bin/perf", "record", "-e", "page-faults", "-g"};
        words.insert(words.end(), more.begin(), more.end());
        words.insert(words.end(), {"-o", data, "-p", list});
        return words;
    }
    fs::path data_;
};

class BpftraceTool : public CounterTool {
  public:
    explicit BpftraceTool(const Scratch& scratch)
        : CounterTool({"/usr/bin/bpftrace", "-e", "software:page-faults:1 { @[ustack] = count(); }"},
                      scratch / "bpftrace.txt") {}
    void check() override {
        if (const std::string words = said(); words.find("@[") == std::string::npos)
            throw std::runtime_error("bpftrace has counted nothing: " + words);
    }
};

}  // namespace memscope
