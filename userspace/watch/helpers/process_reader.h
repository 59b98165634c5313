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

// Runs jobs in a helper process, because a watched process can block its reader: its memory may be backed by a
// userfaultfd or by a FUSE server that never answers, its files may be on a dead NFS server, and it can hold its own
// mmap_lock for ever. A helper that does not answer in time is killed and replaced, and the process that it was reading
// is not read for some time.
//
// SIGKILL does not end every such wait: once a FUSE server has received a request, the helper waits until the server
// answers or dies. Such a helper is abandoned, and the process that blocks it is not read again until the helper has
// ended.
//
// A job is a struct with `kKind`, `Answer`, `asked_of()` (the process that could block it) and `fields()`. Two jobs
// with the same bytes are the same job. Everything except call() belongs to one thread.
class ProcessReader {
  public:
    struct Settings {
        SysRoot root{};
        Seconds deadline{2};  // of one job; is_stuck() checks a helper that takes longer
        Seconds patience{0};  // maximum wait of all ask() calls together, until wait_no_more()
        HelperSpawner::Helper helper = HelperSpawner::Helper::reader;
    };
    ProcessReader(std::shared_ptr<HelperSpawner> spawner, Settings settings);
    ProcessReader(const ProcessReader&) = delete;
    ProcessReader& operator=(const ProcessReader&) = delete;
    ~ProcessReader();  // does not wait for a helper

    // `nullopt`: there is no answer yet, call again with the same job. Does not wait, except at the start: see
    // Settings::patience. An error for which is_retryable() is true says nothing about the process: call again later.
    template <class Job>
    std::optional<Result<typename Job::Answer>> ask(const Job& job) {
        auto reply = ask_packed(packed(job), job.asked_of());
        if (!reply) return std::nullopt;
        return unpacked<Job>(std::move(*reply));
    }
    void wait_no_more() { patience_ = Seconds{0}; }
    // How long an answer is kept that nobody has taken. It must be longer than the time between two ticks, because some
    // answers are taken at a tick only.
    void keep_answers(Seconds time) { kept_ = time; }
    // Queues a job for a later ask(), so that the helper does not wait for the watcher between two jobs.
    template <class Job>
    void submit(const Job& job) {
        submit_packed(packed(job), job.asked_of());
    }
    // Waits until the job is done, its deadline has passed (also if no helper can be started), or stop() is called. For
    // a reader that is used with call() only. From any thread, one at a time.
    template <class Job>
    Result<typename Job::Answer> call(const Job& job) {
        return unpacked<Job>(call_packed(packed(job), job.asked_of()));
    }
    void stop();  // from any thread: call() fails from now on

    int fd() const { return epoll_.get(); }  // readable when answers have arrived
    // Takes answers and replaces a stuck helper. Must be called at least once a tick.
    void pump();

    std::uint64_t answers() const { return answers_; }    // sent by helpers
    std::uint64_t restarts() const { return restarts_; }  // of helpers that did not answer or that ended
    std::vector<Error> take_troubles();                   // since the last call; from any thread
    bool is_blocked(pid_t pid);                           // the process blocked a helper and is not read for some time

    static constexpr std::size_t kMostAbandoned = 8;
    static constexpr Seconds kKept{60};
    // Answers that nobody has taken. If there is more, the oldest ones are dropped: they are read again if they are
    // still needed. Checked once a second.
    static constexpr std::size_t kMostKeptBytes = std::size_t{128} << 20;

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
    // Of a process that blocked a helper.
    struct BackOff {
        std::uint64_t until_ns = 0;  // boot clock: the process is not read until then
        unsigned times = 0;          // how often it blocked a helper
        std::string cgroup{};
    };
    // State of a helper in /proc: whether it runs or waits for a CPU, and the number of its context switches.
    struct Activity {
        bool runs = false;
        std::uint64_t switches = 0;
        bool operator==(const Activity&) const = default;
    };
    struct Abandoned {
        Fd process{};   // a pidfd of the helper
        pid_t pid = 0;  // the process that blocks it
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

    std::optional<Reply> ask_packed(const Packer& job, pid_t pid);
    void submit_packed(const Packer& job, pid_t pid);
    Reply call_packed(const Packer& job, pid_t pid);
    Request& enqueue(const Packer& job, pid_t pid);
    bool has_helper();
    void send_more();
    void fail(Request& request, Error why);
    void receive();
    void accept(Message message);
    void accept_without_descriptors(const Message& message, std::uint64_t id);
    bool is_stuck(std::uint64_t now_ns);
    std::optional<Activity> activity_of_helper() const;
    void replace_helper(const std::string& why, std::uint64_t now_ns);
    void close_helper();
    void fail_all(const Error& why);
    void fail_without_helper(std::uint64_t now_ns);
    void add_trouble(Error trouble);
    void back_off(pid_t pid, const std::string& why, std::uint64_t now_ns);
    void sweep(std::uint64_t now_ns);
    void drop_untaken(std::uint64_t now_ns);
    std::string cgroup_of(pid_t pid) const;

    std::shared_ptr<HelperSpawner> spawner_;
    Settings settings_;
    Seconds kept_ = kKept;
    Fd epoll_;
    Fd stop_;
    Fd socket_{};
    Fd helper_{};           // a pidfd, once the helper has sent it
    pid_t helper_pid_ = 0;  // set together with helper_
    std::uint64_t next_id_ = 1;
    std::map<std::string, std::unique_ptr<Request>> requests_{};  // by their bytes
    std::deque<Request*> waiting_{};                              // to be sent
    std::deque<Request*> sent_{};                                 // in the order of their answers
    std::uint64_t head_since_ns_ = 0;                             // when the helper began with the first job of `sent_`
    std::optional<Activity> late_activity_{};                     // of a helper that is late with this job
    std::uint64_t late_since_ns_ = 0;                             // when late_activity_ was first read or last changed
    std::uint64_t not_before_ns_ = 0;                             // no new helper is started before this time
    bool spawn_failed_ = false;                                   // the last spawn() has failed
    // Boot clock: since then requests wait and no helper has started. 0: no request waits without a helper.
    std::uint64_t no_helper_since_ns_ = 0;
    bool gave_up_ = false;  // requests have failed for lack of a helper, and none has started since then
    std::map<pid_t, BackOff> back_offs_{};
    std::vector<Abandoned> abandoned_{};
    std::uint64_t swept_ns_ = 0;
    Seconds patience_;  // what is left of Settings::patience
    std::uint64_t answers_ = 0;
    std::atomic<std::uint64_t> restarts_ = 0;
    std::mutex troubles_mutex_{};
    std::vector<Error> troubles_{};
    std::mutex call_mutex_{};
};

// Runs in the helper: answers requests one after the other until the socket is closed. `work` gets the bytes and the
// descriptors of a job, and returns its packed Result with descriptors that it keeps open until the next call.
using HelperWork = std::function<Packer(Unpacker& job)>;
void serve_requests(const Fd& socket, const HelperWork& work);

}  // namespace memscope
