#include "watch/helpers/read_jobs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <malloc.h>
#include <new>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/text.h"
#include "base/units.h"
#include "sources/gpu/probed_libraries.h"
#include "sources/heap/heap_census.h"
#include "sources/heap/python/container_lengths.h"
#include "sources/proc/numa.h"
#include "sources/proc/pagemap.h"
#include "sources/proc/shm.h"
#include "sources/proc/smaps_rollup.h"
#include "watch/clock.h"
#include "watch/self/least_privilege.h"

namespace memscope {
namespace {

constexpr Seconds kQuickDeadline{2};     // far longer than any of these jobs takes, unless a process blocks it
constexpr Seconds kSlowDeadline{10};     // for the symbols of a large library on a slow file system
constexpr Seconds kRequestDeadline{15};  // requests for growth wait for each other
constexpr Seconds kHeapDeadline{40};     // a census ends by itself after ReadDeadline::kWall
constexpr std::uint64_t kHeapMemory = std::uint64_t{256} << 20;
constexpr Seconds kStartPatience{1};  // the first tick waits for the helper, so that it has command lines

Seconds seconds(std::uint64_t ns) { return Seconds{static_cast<double>(ns) * 1e-9}; }

// The kernel reads the file when it attaches a probe, with mmap_locks held and every fork() of the machine waiting. A
// FUSE server could delay that for ever.
Status refuse_fuse(const Fd& file, const std::string& path) {
    struct statfs status{};
    if (::fstatfs(file.get(), &status) != 0) return system_error(errno, "read the type of the file system of " + path);
    if (status.f_type == FUSE_SUPER_MAGIC)
        return plain_error(path +
                           " lies on a FUSE file system, whose server could block this machine: it is not followed");
    return Done{};
}

Result<Fd> handle_of(const Fd& file) {
    const std::string path = SysRoot{}.proc / "self/fd" / std::to_string(file.get());
    Fd handle(::open(path.c_str(), O_PATH | O_CLOEXEC));
    if (!handle) return system_error(errno, "open " + path);
    return handle;
}

class Helper {
  public:
    explicit Helper(SysRoot root) : root_(std::move(root)), finder_(root_) {}

    Packer work(Unpacker& job) {
        keep_ = {};
        ReadJob kind{};
        job.take(kind);
        switch (kind) {
            case ReadJob::details:
                return done<DetailsJob>(job);
            case ReadJob::maps:
                return done<MapsJob>(job);
            case ReadJob::python:
                return done<PythonJob>(job);
            case ReadJob::code:
                return done<CodeJob>(job);
            case ReadJob::module:
                return done<ModuleJob>(job);
            case ReadJob::symbols:
                return done<SymbolsJob>(job);
            case ReadJob::sharing:
                return done<SharingJob>(job);
            case ReadJob::library:
                return done<LibraryJob>(job);
            case ReadJob::shm:
                return done<ShmJob>(job);
            case ReadJob::nodes:
                return done<NodesJob>(job);
            case ReadJob::heap:
                return done<HeapJob>(job);
            case ReadJob::pages:
                return done<PagesJob>(job);
            case ReadJob::lengths:
                return done<LengthsJob>(job);
        }
        return failed();
    }

  private:
    template <class Job>
    Packer done(Unpacker& bytes) {
        Job job;
        if (!bytes.take(job)) return failed();
        auto answer = std::make_shared<Result<typename Job::Answer>>(answer_to(job));
        Packer packer;
        packer.put(*answer);
        // Keeps the descriptors open until they are sent. Other answers are freed now, because symbols are large.
        if (!packer.fds().empty()) keep_ = answer;
        return packer;
    }

    static Packer failed() {
        Packer packer;
        packer.put(Result<Done>(plain_error("the helper got a malformed job")));
        return packer;
    }

    Result<DetailsJob::Answer> answer_to(const DetailsJob& job) const { return read_details(root_, job.id); }

    Result<MapsAnswer> answer_to(const MapsJob& job) const {
        const std::uint64_t began = read_clock().boot_ns;
        auto text = read_file(root_.proc / std::to_string(job.pid) / "maps", kMapsTextLimit);
        if (!text) return text.error();
        return MapsAnswer{.text = std::move(*text), .began_ns = began};
    }

    Result<PythonSearch> answer_to(const PythonJob& job) { return finder_.find(job.pid); }

    static Result<PythonCode> answer_to(const CodeJob& job) {
        PythonCode code = job.code;
        if (auto done = complete_python_code(code, ProcessMemory::of(job.pid), job.layout, job.address); !done)
            return done.error();
        return code;
    }

    Result<ModulePlace> answer_to(const ModuleJob& job) const {
        return find_module(root_, job.pid, job.mapped, job.headers);
    }

    Result<LoadedModule> answer_to(const SymbolsJob& job) const { return load_module(root_, job.wanted); }

    Result<SharingAnswer> answer_to(const SharingJob& job) const {
        const Seconds began_cpu = thread_cpu_time();
        const auto process = open_process(root_, job.id);
        if (!process) return SharingAnswer{.gone = true, .cost = {.cpu = thread_cpu_time() - began_cpu}};
        const std::uint64_t began_ns = read_clock().boot_ns;
        const auto pages =
            job.whole ? read_smaps_rollup(*process) : read_page_sample(*process, ReadSchedule::kLongestSample);
        const std::uint64_t ended_ns = read_clock().boot_ns;
        // ENOENT may be a process that ends, or a kernel without the file.
        const bool gone = !pages && (pages.error().code == std::errc::no_such_process || !open_process(root_, job.id));
        return SharingAnswer{
            .gone = gone,
            .cost = {.cpu = thread_cpu_time() - began_cpu, .held = seconds(ended_ns - began_ns)},
            .reading = {
                .began_ns = began_ns, .read_ns = ended_ns, .pages = pages ? std::optional(*pages) : std::nullopt}};
    }

    Result<PagesAnswer> answer_to(const PagesJob& job) const {
        const Seconds began_cpu = thread_cpu_time();
        PagesAnswer answer{.began_ns = read_clock().boot_ns};
        const auto process = open_process(root_, job.id);
        if (!process) return system_error(ESRCH, "read pagemap");
        auto absent = absent_pages(*process, job.addresses, Bytes{page_bytes()});
        if (!absent) return absent.error();
        answer.absent = *std::move(absent);
        answer.cpu = thread_cpu_time() - began_cpu;
        return answer;
    }

    Result<LibraryAnswer> answer_to(const LibraryJob& job) const {
        auto answer = open_library(job);
        // If the process has ended, the error says nothing about the file.
        if (!answer && has_no_root(job.pid)) return system_error(ESRCH, "read " + job.mapped.path);
        return answer;
    }

    // True if the process has ended, also if its parent has not waited for it yet.
    bool has_no_root(pid_t pid) const {
        char target = 0;
        const fs::path link = root_.proc / std::to_string(pid) / "root";
        return ::readlink(link.c_str(), &target, 1) < 0 && (errno == ENOENT || errno == ESRCH);
    }

    Result<LibraryAnswer> open_library(const LibraryJob& job) const {
        LibraryAnswer answer;
        Fd file;
        if (job.kind == LibraryKind::cuda) {
            auto library = open_cuda_library(root_, job.pid, job.mapped);
            if (!library) return library.error();
            answer.cuda = std::move(library->places);
            file = std::move(library->file);
        } else if (job.kind == LibraryKind::gpu_tensors) {
            auto library = open_gpu_tensor_library(root_, job.pid, job.mapped);
            if (!library) return library.error();
            answer.gpu_tensors = std::move(library->places);
            file = std::move(library->file);
        } else {
            auto library = open_host_tensor_library(root_, job.pid, job.mapped);
            if (!library) return library.error();
            answer.host_tensors = std::move(library->places);
            file = std::move(library->file);
        }
        if (auto allowed = refuse_fuse(file, job.mapped.path); !allowed) return allowed.error();
        auto handle = handle_of(file);
        if (!handle) return handle.error();
        answer.file = std::move(*handle);
        return answer;
    }

    Result<ShmJob::Answer> answer_to(const ShmJob& job) const {
        std::vector<std::pair<std::uint64_t, pid_t>> namespaces;
        for (std::size_t i = 0; i < std::min(job.namespaces.size(), job.members.size()); ++i)
            namespaces.emplace_back(job.namespaces[i], job.members[i]);
        return fullest_shm(root_, namespaces);
    }

    Result<HeapCensus> answer_to(const HeapJob& job) const {
        try {
            return take_heap_census(root_, job.pid, HeapBudget{.objects = job.objects});
        } catch (const std::bad_alloc&) {
            return system_error(ENOMEM,
                                fmt::format("take a heap census of process {} with the {} that a helper process "
                                            "may use",
                                            job.pid, human_size(memory_limit())));
        }
    }

    Result<LengthsAnswer> answer_to(const LengthsJob& job) const {
        const Seconds began = thread_cpu_time();
        LengthsAnswer answer{.time = read_clock().unix_seconds};
        auto readings = read_container_lengths(root_, job.id, job.places);
        if (!readings) return readings.error();
        answer.readings = *std::move(readings);
        answer.cpu = thread_cpu_time() - began;
        return answer;
    }

    // See limit_memory().
    static Bytes memory_limit() {
        rlimit limit{};
        (void)::getrlimit(RLIMIT_AS, &limit);
        return Bytes{limit.rlim_cur};
    }

    // Empty if the process has ended.
    Result<NodesJob::Answer> answer_to(const NodesJob& job) const {
        const NodeSet memory_nodes(job.memory_nodes.begin(), job.memory_nodes.end());
        const NodeSet nodes = read_process_nodes(root_, job.pid, memory_nodes).value_or(NodeSet{});
        return NodesJob::Answer(nodes.begin(), nodes.end());
    }

    SysRoot root_;
    PythonFinder finder_;
    std::shared_ptr<void> keep_{};
};

// Limits the memory of the heap reader, because the watched process controls the structure of its heap, and a bug in
// the census must not use up the memory of the machine. The limit leaves room for a census in a program whose own
// address space is large, as with sanitizers.
void limit_memory(const SysRoot& root) {
    const auto statm = read_file(root.proc / "self/statm", 4096);
    const auto pages = statm ? parse_number(statm->substr(0, statm->find(' '))) : std::nullopt;
    const std::uint64_t own = pages.value_or(0) * page_bytes();
    const rlim_t most = std::max(kHeapMemory, own + HeapBudget{}.memory.n + (std::uint64_t{64} << 20));
    const rlimit limit{most, most};
    (void)::setrlimit(RLIMIT_AS, &limit);
    // Large blocks get a mapping of their own, so that they go back to the kernel when they are freed. Otherwise malloc
    // keeps them.
    (void)::mallopt(M_MMAP_THRESHOLD, 256 << 10);
}

}  // namespace

void serve_read_jobs(const SysRoot& root, Fd socket) {
    Helper helper(root);
    serve_requests(socket, [&helper](Unpacker& job) { return helper.work(job); });
}

ReadHelpers::ReadHelpers(const std::shared_ptr<HelperSpawner>& helpers, const SysRoot& root)
    : spawner(helpers->pid()),
      can_start([helpers] { return helpers->is_alive(); }),
      quick(helpers, {.root = root, .deadline = kQuickDeadline, .patience = kStartPatience}),
      slow(helpers, {.root = root, .deadline = kSlowDeadline}),
      patient(helpers, {.root = root, .deadline = kRequestDeadline}),
      heap(helpers, {.root = root, .deadline = kHeapDeadline, .helper = HelperSpawner::Helper::heap_reader}),
      probes(helpers) {}

// The spawner has all capabilities that any of its helpers needs. Each helper drops the others before its first job.
Result<std::shared_ptr<ReadHelpers>> ReadHelpers::start(const SysRoot& root, Probes probes) {
    const auto status = read_file(root.proc / "self/status");
    const CapabilitySet permitted = status ? parse_capabilities(*status, "CapPrm") : CapabilitySet{};
    const CapabilitySet reading = reading_capabilities(permitted);
    const CapabilitySet probing =
        probes == Probes::none ? CapabilitySet{} : probing_capabilities(permitted, probes == Probes::one_by_one);
    const auto prepare = [reading, probing] { (void)limit_to({reading.bits | probing.bits}); };
    const auto serve = [root, reading](Fd socket) {
        (void)limit_to(reading);
        serve_read_jobs(root, std::move(socket));
    };
    const auto read_heaps = [root, reading](Fd socket) {
        (void)limit_to(reading);
        limit_memory(root);
        serve_read_jobs(root, std::move(socket));
    };
    const auto hold = [probing](Fd socket) {
        (void)limit_to(probing);
        serve_probes(std::move(socket));
    };
    auto spawner =
        HelperSpawner::start({.prepare = prepare, .serve = serve, .read_heaps = read_heaps, .hold_probes = hold});
    if (!spawner) return spawner.error();
    return std::make_shared<ReadHelpers>(*spawner, root);
}

std::vector<Error> ReadHelpers::take_troubles() {
    std::vector<Error> troubles;
    for (ProcessReader* reader : {&quick, &slow, &patient, &heap})
        for (Error& trouble : reader->take_troubles()) troubles.push_back(std::move(trouble));
    return troubles;
}

std::optional<Result<ProcessMaps>> HelperReads::maps(pid_t pid, std::uint64_t number) {
    const auto answer =
        helpers_->quick.ask(MapsJob{.pid = pid, .reader = MapsReader::native_symbols, .number = number});
    if (!answer) return std::nullopt;
    if (!*answer) return answer->error();
    return parse_process_maps((*answer)->text);
}

std::optional<Result<ModulePlace>> HelperReads::find(pid_t pid, const MappedRange& mapped, std::uint64_t headers) {
    return helpers_->quick.ask(ModuleJob{.pid = pid, .mapped = mapped, .headers = headers});
}

std::optional<Result<LoadedModule>> HelperReads::load(ModuleWanted wanted, Wait wait) {
    const SymbolsJob job{.wanted = std::move(wanted)};
    auto loaded = wait == Wait::no ? helpers_->slow.ask(job) : std::optional(helpers_->patient.call(job));
    if (loaded && *loaded && !(*loaded)->symbols.table.is_sound())
        return plain_error("the helper sent malformed symbols");
    return loaded;
}

}  // namespace memscope
