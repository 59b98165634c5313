#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernel/detacher.h"
#include "kernel/session.h"
#include "model/process_table.h"
#include "sources/process_maps.h"
#include "watch/read_jobs.h"

namespace memscope {

// Files of one kind that watched processes have mapped to be run, and the probes in each for as long as anybody has it.
class LibraryFollower {
  public:
    struct Kind {
        std::string name{};  // of many, for people
        LibraryKind kind{};
        std::string file_name{};  // how the names of such files begin
        std::function<Result<std::vector<UserProbe>>(Session&, const LibraryAnswer&)> follow{};
        bool tells_from_start = false;  // take_followed_from_start() is asked for
    };
    LibraryFollower(Kind kind, std::shared_ptr<ReadHelpers> reads, bool on)
        : kind_(std::move(kind)), reads_(std::move(reads)), on_(on) {}
    LibraryFollower(const LibraryFollower&) = delete;
    LibraryFollower& operator=(const LibraryFollower&) = delete;
    ~LibraryFollower();

    void begin(const TrackedProcess& process);  // one that is watched from now on
    void executed(const ProcessId& process);
    // One that has mapped such a file a moment ago: look() soon, for what it does until then is not seen. `watched`: it
    // was when it did so, and before.
    void mapped(const ProcessId& process, bool watched) { look_at(process, watched); }
    void look(Session& session, std::uint64_t now_ns);  // boot clock
    void tick(Session& session, const ProcessTable& processes, std::uint64_t now_ns);

    // Processes that map such files since the last time, of whom all use of the files is seen.
    std::vector<ProcessId> take_followed_from_start() { return std::exchange(followed_from_start_, {}); }
    // Its files have been followed since before it could use them.
    bool is_followed_from_its_start(const ProcessId& process) const;
    bool has_any() const;                               // somebody has mapped one, or what is named so
    bool is_following() const;                          // and at least one of them is followed
    std::uint64_t refused() const { return refused_; }  // files that cannot be followed
    std::vector<Error> take_refusals() { return std::exchange(refusals_, {}); }  // why, once a file

  private:
    using FileKey = std::tuple<unsigned, unsigned, std::uint64_t>;  // as /proc/PID/maps has it
    struct Library {
        std::vector<UserProbe> probes{};  // none: it was refused
        std::map<pid_t, bool> users{};    // true: followed from its start
        std::uint64_t followed_ns = 0;    // since then
        std::uint64_t used_ns = 0;        // at the last tick at which it had any
    };

    void look_at(const ProcessId& process, bool just_mapped);
    struct ToLookAt {
        bool just_mapped = false;
        std::uint64_t number = 0;  // of the reading of its maps that is under way
        std::optional<std::vector<MappedRange>> mappings{};
    };
    bool look_at_maps(Session& session, const ProcessId& process, ToLookAt& look, std::uint64_t now_ns);
    Status follow(Session& session, const Result<LibraryAnswer>& file, Library& library);
    void tell_if_from_start(const ProcessId& process);
    void look_again(const ProcessTable& processes, std::uint64_t now_ns);
    void leave_unused(const ProcessTable& processes, std::uint64_t now_ns);

    Kind kind_;
    std::shared_ptr<ReadHelpers> reads_;
    bool on_;
    std::map<ProcessId, ToLookAt> to_look_at_{};
    std::uint64_t numbers_ = 0;
    struct Look {
        std::uint64_t next_ns = 0;
        std::uint64_t wait_ns = 0;
    };
    std::map<ProcessId, Look> looks_{};  // where nobody tells of files that are mapped
    Detacher detacher_{};
    std::map<FileKey, Library> libraries_{};
    std::vector<ProcessId> followed_from_start_{};
    std::uint64_t refused_ = 0;
    std::vector<Error> refusals_{};
};

}  // namespace memscope
