#include "watch/heap/heap_recorder.h"

#include <algorithm>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

namespace memscope {
namespace {

// Longer than the time limit of one census, because several censuses may be waiting.
constexpr std::chrono::seconds kPatience{75};
constexpr std::size_t kMostRequests = 64;

const TrackedProcess* find(const ProcessTable::Living& living, const ProcessId& process) {
    const auto found = living.find(process.pid);
    return found != living.end() && found->second.task.id == process ? &found->second : nullptr;
}

Bytes anon_of(const TrackedProcess& process) { return process.task.memory ? process.task.memory->anon : Bytes{}; }

Error ended(const ProcessId& process) {
    return system_error(ESRCH, "take a heap census of process " + std::to_string(process.pid));
}

}  // namespace

HeapRecorder::HeapRecorder(Read read, Complete complete, Seconds again, unsigned cores)
    : read_(std::move(read)),
      complete_(std::move(complete)),
      schedule_(again, cores),
      asked_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void HeapRecorder::want(Seconds now, const std::vector<CensusWish>& wishes) {
    for (const CensusWish& wish : wishes) schedule_.want(now, wish);
}

void HeapRecorder::pump(Seconds now, const ProcessTable::Living& living) {
    if (has_requests_.exchange(false)) {
        std::uint64_t times = 0;
        [[maybe_unused]] const auto n = ::read(asked_.get(), &times, sizeof times);
    }
    do {
        if (!current_) begin_next(now, living);
    } while (current_ && finish(now, living));
}

void HeapRecorder::begin_next(Seconds now, const ProcessTable::Living& living) {
    std::shared_ptr<Request> request;
    {
        const std::lock_guard lock(mutex_);
        if (!requests_.empty()) {
            request = std::move(requests_.front());
            requests_.pop_front();
        }
    }
    if (request) {
        const TrackedProcess* process = find(living, request->process);
        if (!process) return answer(request, ended(request->process));
        current_ = Current{.job = {.pid = request->process.pid, .number = ++jobs_, .objects = true},
                           .process = request->process,
                           .anon = anon_of(*process),
                           .request = request};
        return;
    }
    if (schedule_.waiting() == 0) return;
    schedule_.keep_only([&](const ProcessId& process) { return find(living, process) != nullptr; });
    std::erase_if(reported_, [&](const ProcessId& process) { return !find(living, process); });
    if (const auto wish = schedule_.next(now))
        current_ = Current{.job = {.pid = wish->process.pid, .number = ++jobs_, .objects = wish->objects},
                           .process = wish->process,
                           .anon = wish->anon};
}

// False: the helper has not answered yet.
bool HeapRecorder::finish(Seconds now, const ProcessTable::Living& living) {
    auto answered = read_(current_->job);
    if (!answered) return false;
    const Current done = *std::exchange(current_, std::nullopt);
    // A failed census counts, too, because it has used time.
    const bool objects = *answered ? (**answered).objects != nullptr : done.job.objects;
    schedule_.took(now, done.process, done.anon,
                   *answered ? (**answered).taken : schedule_.estimate(done.anon, objects), objects);
    // If the process still lives, it has kept its pid since the request, so the census is of this process.
    if (!find(living, done.process)) *answered = ended(done.process);
    if (*answered) {
        (**answered).process = done.process;
        complete_(**answered);
        taken_.push_back(**answered);
    }
    if (done.request)
        answer(done.request, std::move(*answered));
    else if (!*answered && answered->error().code == std::errc::not_enough_memory &&
             reported_.insert(done.process).second)
        troubles_.push_back(answered->error());
    return true;
}

void HeapRecorder::answer(const std::shared_ptr<Request>& request, Result<HeapCensus> answer) {
    {
        const std::lock_guard lock(mutex_);
        request->answer = std::move(answer);
    }
    answered_.notify_all();
}

std::vector<Result<HeapCensus>> HeapRecorder::take(const std::vector<ProcessId>& processes) {
    std::vector<std::shared_ptr<Request>> requests;
    std::unique_lock lock(mutex_);
    for (const ProcessId& process : processes) {
        auto request = std::make_shared<Request>();
        request->process = process;
        requests.push_back(request);
        if (requests_.size() < kMostRequests && !stopped_)
            requests_.push_back(request);
        else
            request->answer = system_error(EBUSY, "take a heap census");
    }
    has_requests_ = true;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto n = ::write(asked_.get(), &one, sizeof one);
    answered_.wait_for(lock, kPatience, [&] {
        return stopped_ ||
               std::ranges::all_of(requests, [](const auto& request) { return request->answer.has_value(); });
    });
    std::vector<Result<HeapCensus>> answers;
    for (const auto& request : requests) {
        std::erase(requests_, request);
        answers.push_back(
            request->answer ? *request->answer
                            : Result<HeapCensus>(system_error(stopped_ ? ECANCELED : ETIMEDOUT, "take a heap census")));
    }
    return answers;
}

void HeapRecorder::stop_waiting() {
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
    }
    answered_.notify_all();
}

}  // namespace memscope
