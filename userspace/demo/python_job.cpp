#include "demo/python_job.h"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "demo/job_files.h"

namespace memscope {
namespace {

constexpr const char* kErrors = "stderr.txt";
constexpr Seconds kPatience{90};  // importing PyTorch takes long on a slow disk

Status write_job_file(const fs::path& path, std::string_view text, mode_t mode) {
    if (text.empty()) return plain_error("the demo has no file for " + path.filename().string());
    const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        return system_error(errno, "write " + path.string());
    return Done{};
}

// The job has an environment of its own, because the environment of the user could change what the interpreter does.
std::vector<std::string> environment_of_job(const DemoPython& python, const StageClock& clock, int ready) {
    std::vector<std::string> environment{
        "PATH=/usr/bin:/bin",
        "HOME=/",
        "LANG=C.UTF-8",
        "OMP_NUM_THREADS=1",
        "PYTHONDONTWRITEBYTECODE=1",
        "PYTHONNOUSERSITE=1",
        "PYTHON=" + python.program,
        fmt::format("MEMSCOPE_DEMO_CLOCK={}", clock.descriptor()),
        fmt::format("MEMSCOPE_DEMO_READY={}", ready),
        fmt::format("MEMSCOPE_DEMO_SPEED={}", clock.speed()),
        fmt::format("MEMSCOPE_DEMO_LENGTH={}", kScenarioLength.count()),
    };
    if (const char* libraries = std::getenv("LD_LIBRARY_PATH"))  // some interpreters do not start without it
        environment.push_back(std::string("LD_LIBRARY_PATH=") + libraries);
    return environment;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    pointers.reserve(texts.size() + 1);
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

// Replaces the calling process by the launcher. Returns only if that fails.
void become_launcher(const DemoJob& job, const DemoPython& python, const JobDirectory& directory,
                     const StageClock& clock, int ready) {
    if (::chdir(directory.path().c_str()) != 0) return;
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    const int errors = ::open(kErrors, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    for (const int output : {STDIN_FILENO, STDOUT_FILENO}) ::dup2(null, output);
    ::dup2(errors, STDERR_FILENO);
    for (const int kept : {clock.descriptor(), ready})
        if (::fcntl(kept, F_SETFD, 0) != 0) return;
    // Without huge pages, so that a write copies only one small page and sizes are exact.
    (void)::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    std::vector<std::string> environment = environment_of_job(python, clock, ready);
    std::vector<std::string> direct{"./" + std::string(job.called)};
    ::execve(direct.front().c_str(), pointers_to(direct).data(), pointers_to(environment).data());
    // Scripts cannot be started directly on a file system that is mounted with noexec.
    std::vector<std::string> by_shell{"/bin/sh", "./" + std::string(job.called)};
    ::execve(by_shell.front().c_str(), pointers_to(by_shell).data(), pointers_to(environment).data());
}

constexpr std::string_view kDirectory = "memscope-demo-";

// Removes the directories of demos that were killed. Removes only directories that belong to our user, because other
// users can create any name there.
void remove_left_behind(const fs::path& base) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(base, ignored)) {
        const std::string name = entry.path().filename();
        if (!name.starts_with(kDirectory)) continue;
        const auto pid = parse_number(std::string_view(name)
                                          .substr(kDirectory.size())
                                          .substr(0, name.find('-', kDirectory.size()) - kDirectory.size()));
        struct stat found{};
        const bool ours =
            ::lstat(entry.path().c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == ::geteuid();
        if (pid && *pid > 1 && ours && ::kill(static_cast<pid_t>(*pid), 0) != 0 && errno == ESRCH)
            fs::remove_all(entry.path(), ignored);
    }
}

}  // namespace

Result<JobDirectory> JobDirectory::make(const DemoJob& job, bool with_torch) {
    std::error_code failed;
    fs::path base = fs::temp_directory_path(failed);
    if (failed) base = "/tmp";
    remove_left_behind(base);
    std::string name = (base / fmt::format("{}{}-XXXXXX", kDirectory, ::getpid())).string();
    if (!::mkdtemp(name.data())) return system_error(errno, "make a directory in " + base.string());
    JobDirectory directory{fs::path(name)};
    const std::string_view script = with_torch && !job.with_torch.empty() ? job.with_torch : job.script;
    struct File {
        std::string_view name{};
        std::string_view source{};
        mode_t mode = 0600;
    };
    for (const File& file : {File{"train.py", script}, File{"stage.py", "stage.py"},
                             File{job.called, job.launcher, 0700}, File{"run.sh", "launch.sh", 0700}})
        if (auto written = write_job_file(directory.path_ / file.name, job_file(file.source), file.mode); !written)
            return written.error();
    return directory;
}

JobDirectory::~JobDirectory() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
}

std::string JobDirectory::last_error() const {
    const auto text = read_file(path_ / kErrors);
    std::string last;
    if (text)
        for_each_line(*text, [&last](std::string_view line) {
            if (!trimmed(line).empty()) last = printable(shortened(line));
        });
    return last;
}

Result<DemoTree> start_python_job(const DemoJob& job, const DemoPython& python, const JobDirectory& directory,
                                  OwnCgroup& cgroup, const StageClock& clock) {
    auto tree = DemoTree::start(cgroup, 1 + job.workers, kPatience,
                                [&](int ready) { become_launcher(job, python, directory, clock, ready); });
    if (tree) return tree;
    const std::string said = directory.last_error();
    if (said.empty()) return tree.error();
    return plain_error(fmt::format("{} ({})", tree.error().where, said), tree.error().advice);
}

}  // namespace memscope
