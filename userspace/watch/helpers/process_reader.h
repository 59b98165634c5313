#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <sys/types.h>
#include <vector>

#include "base/files.h"
#include "base/packing.h"
#include "base/units.h"
#include "watch/helpers/helper_spawner.h"
#include "watch/helpers/message.h"

namespace memscope {

// Has jobs done by a helper process, because a watched process can block whoever reads it: its memory may be backed by
// a userfaultfd or by a FUSE server that never answers, its files may lie on a dead NFS server, and it can hold its own
// mmap_lock for ever. A helper that does not answer in time is killed and replaced, and the process that it was asked
// about is left alone for a while.
//
// SIGKILL does not end every such wait: a request that a FUSE server has received is waited for until the server
// answers or dies. Such a helper is abandoned, and the process that blocks it is not asked again until it has ended.
//
// A job is a struct with `kKind`, `Answer`, `asked_of()` (the process that could block it) and `fields()`. Its bytes
// are its identity. Belongs to one thread, but for call().
class ProcessReader {
  public:
    struct Settings {
        SysRoot root{};
        Seconds deadline{2};         // for one job, after which its helper is looked at: see is_stuck()
        Seconds patience{0};         // that ask() may use up waiting at once, at most
        double patience_share = 0;   // of the time, that it regains
        Seconds at_start{0};         // the same once: the first tick is to be complete
        Seconds seems_stuck{0.050};  // a helper that has worked on one job for so long is not waited for
        HelperSpawner::Helper helper = HelperSpawner::Helper::reader;
    };
    ProcessReader(std::shared_ptr<HelperSpawner> spawner, Settings settings);
    ProcessReader(const ProcessReader&) = delete;
    ProcessReader& operator=(const ProcessReader&) = delete;
    ~ProcessReader();  // does not wait for a helper

    // Nothing: not known yet, ask again for the same. Waits for the answer as long as it has patience, but not while
    // the helper seems to be stuck. ETIMEDOUT: the process blocks its readers.
    enum class Patience { some, none };
    template <class Job>
    std::optional<Result<typename Job::Answer>> ask(const Job& job, Patience patience = Patience::some) {
        auto reply = ask_packed(packed(job), job.asked_of(), patience);
        if (!reply) return std::nullopt;
        return unpacked<Job>(std::move(*reply));
    }
    // Has it done soon, for an ask() to come: so the helper does not wait for the watcher between two jobs.
    template <class Job>
    void submit(const Job& job) {
        submit_packed(packed(job), job.asked_of());
    }
    // Waits until it is done or its deadline has passed, or stop() is called. For a reader that is used in no other
    // way; from any thread, one at a time.
    template <class Job>
    Result<typename Job::Answer> call(const Job& job) {
        return unpacked<Job>(call_packed(packed(job), job.asked_of()));
    }
    void stop();  // from any thread: calls fail from now on

    int fd() const { return epoll_.get(); }  // readable when answers have come
    // Takes answers, replaces a helper whose time is over. At least once a tick.
    void pump();

    std::uint64_t restarts() const { return restarts_; }  // of helpers that did not answer or that ended
    std::vector<Error> take_troubles() { return std::exchange(troubles_, {}); }
    bool is_blocked(pid_t pid);  // and is not asked

    static constexpr std::size_t kMostAbandoned = 8;

  private:
    struct Reply {
        std::optional<Error> failure{};
        Message message{};
    };
    struct Request {
        std::uint64_t id = 0;
        pid_t pid = 0;
        std::string bytes{};
        std::vector<Fd> fds{};
        std::uint64_t answered_ns = 0;  // boot clock; 0: not yet
        Reply reply{};
    };
    struct Offence {
        std::uint64_t until_ns = 0;
        unsigned strikes = 0;
        std::string cgroup{};
    };
    // What the kernel says of a helper: whether it runs or waits for a CPU, and how often it was switched.
    struct Activity {
        bool runs = false;
        std::uint64_t switches = 0;
        bool operator==(const Activity&) const = default;
    };
    struct Abandoned {
        Fd process{};   // a pidfd
        pid_t pid = 0;  // that blocks it
        std::string cgroup{};
    };

    template <class Job>
    static Packer packed(const Job& job) {
        Packer packer;
        packer.put(Job::kKind);
        packer.put(job);
        return packer;
    }
    template <class Job>
    static Result<typename Job::Answer> unpacked(Reply reply) {
        if (reply.failure) return *reply.failure;
        return Unpacker::result<typename Job::Answer>(
            std::string_view(reply.message.text).substr(sizeof(std::uint64_t)), std::move(reply.message.fds));
    }

    std::optional<Reply> ask_packed(const Packer& job, pid_t pid, Patience patience);
    void submit_packed(const Packer& job, pid_t pid);
    Reply call_packed(const Packer& job, pid_t pid);
    Request& enqueue(const Packer& job, pid_t pid);
    bool has_helper();
    void send_more();
    void receive();
    void accept(Message message);
    bool is_stuck(std::uint64_t now_ns);
    std::optional<Activity> activity_of_helper() const;
    void replace_helper(const std::string& why, std::uint64_t now_ns);
    void fail_all(int error);
    void punish(pid_t pid, const std::string& why, std::uint64_t now_ns);
    void sweep(std::uint64_t now_ns);
    std::string cgroup_of(pid_t pid) const;
    Seconds may_wait(std::uint64_t now_ns);

    std::shared_ptr<HelperSpawner> spawner_;
    Settings settings_;
    Fd epoll_;
    Fd stop_;
    Fd socket_{};
    Fd helper_{};           // a pidfd, once the helper has told it
    pid_t helper_pid_ = 0;  // the same
    std::uint64_t next_id_ = 1;
    std::map<std::string, std::unique_ptr<Request>> requests_{};  // by their bytes
    std::deque<Request*> waiting_{};                              // to be sent
    std::deque<Request*> sent_{};                                 // in the order in which they are answered
    std::uint64_t head_since_ns_ = 0;                             // the first of `sent_` is being worked on since then
    std::optional<Activity> late_activity_{};                     // of a helper that is late with that job
    std::uint64_t late_look_ns_ = 0;                              // when it was seen, or when it changed last
    std::uint64_t not_before_ns_ = 0;                             // no new helper
    std::map<pid_t, Offence> offences_{};
    std::vector<Abandoned> abandoned_{};
    std::uint64_t swept_ns_ = 0;
    Seconds patience_;
    std::uint64_t patience_ns_ = 0;  // when it was reckoned up last
    std::atomic<std::uint64_t> restarts_ = 0;
    std::vector<Error> troubles_{};
    std::mutex call_mutex_{};
};

// The other end: answers requests one after the other until the socket is closed. `work` gets the bytes of a job and
// what came with it, and returns its Result, packed, with descriptors that it keeps open until the next call.
using HelperWork = std::function<Packer(Unpacker& job)>;
void serve_requests(const Fd& socket, const HelperWork& work);

}  // namespace memscope
