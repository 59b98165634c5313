#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace memscope {

// A cgroup of the test below the memory controller's hierarchy, v1 or v2. The destructor removes it with all that is in
// it.
class RealCgroup {
  public:
    explicit RealCgroup(const std::string& name);  // the pid is appended; may be "outer/inner" below another one
    explicit RealCgroup(const RealCgroup& parent, const std::string& name);
    RealCgroup(const RealCgroup&) = delete;
    RealCgroup& operator=(const RealCgroup&) = delete;
    ~RealCgroup() { remove(); }

    const std::string& name() const { return name_; }  // the path below the hierarchy
    std::filesystem::path path() const { return mount() / name_; }
    void limit(std::size_t bytes) const;
    void write(const std::string& file, const std::string& text) const;
    std::uint64_t stat(const std::string& key) const;  // a number of memory.stat
    void enter() const;                                // the calling process
    void enter(int pid) const;
    void remove();

    static std::string name_of(const std::string& name);  // as the constructor makes it, or a glob for several
    static std::filesystem::path mount();
    static bool v2();

  private:
    std::string name_;
};

}  // namespace memscope
