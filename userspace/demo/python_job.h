#pragma once
#include "base/files.h"
#include "demo/demo_python.h"
#include "demo/demo_tree.h"
#include "demo/scenario.h"

namespace memscope {

// A private directory with the files of a job. The destructor removes it. If memscope is killed, the next demo removes
// it.
class JobDirectory {
  public:
    static Result<JobDirectory> make(const DemoJob& job, bool with_torch);
    JobDirectory(JobDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    JobDirectory& operator=(JobDirectory&&) = delete;
    ~JobDirectory();

    const fs::path& path() const { return path_; }
    std::string last_error() const;  // the last line that the job wrote to standard error; empty: none

  private:
    explicit JobDirectory(fs::path path) : path_(std::move(path)) {}
    fs::path path_;
};

// Starts the launcher of the job in the cgroup. Returns when the trainer and all workers hold their initial memory.
Result<DemoTree> start_python_job(const DemoJob& job, const DemoPython& python, const JobDirectory& directory,
                                  OwnCgroup& cgroup, const StageClock& clock);

}  // namespace memscope
