#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <tuple>
#include <vector>

#include "analysis/sharing/read_schedule.h"
#include "base/files.h"
#include "model/heap/heap.h"
#include "model/memory.h"
#include "model/probe_places.h"
#include "model/processes/process.h"
#include "model/sharing.h"
#include "sources/elf/native_reads.h"
#include "sources/proc/process_maps.h"
#include "sources/proc/procfs.h"
#include "sources/python/python_code.h"
#include "sources/python/python_finder.h"
#include "watch/helpers/probe_holder.h"
#include "watch/helpers/process_reader.h"

namespace memscope {

// The jobs that helpers do for the watcher: see ProcessReader. `number` distinguishes two reads of the same process.

enum class ReadJob : std::uint32_t {
    details,
    maps,
    python,
    code,
    module,
    symbols,
    sharing,
    library,
    shm,
    nodes,
    heap,
    pages,
    lengths
};

struct DetailsJob {  // command line, environment
    static constexpr ReadJob kKind = ReadJob::details;
    using Answer = std::optional<ProcessDetails>;
    ProcessId id{};
    std::uint64_t number = 0;
    bool operator==(const DetailsJob&) const = default;
    auto fields() { return std::tie(id, number); }
    pid_t asked_of() const { return id.pid; }
};

struct MapsAnswer {
    std::string text{};
    std::uint64_t began_ns = 0;  // boot clock: when the read began
    auto fields() { return std::tie(text, began_ns); }
};
// The readers of mappings. Each reader counts its reads by itself, so `number` alone does not identify a job.
enum class MapsReader : std::uint32_t { native_symbols, mapped_growth, cuda, gpu_tensors, host_tensors };
struct MapsJob {
    static constexpr ReadJob kKind = ReadJob::maps;
    using Answer = MapsAnswer;
    pid_t pid = 0;
    MapsReader reader = MapsReader::native_symbols;
    std::uint64_t number = 0;
    auto fields() { return std::tie(pid, reader, number); }
    pid_t asked_of() const { return pid; }
};

struct PythonJob {  // the layout of the Python interpreter of a process
    static constexpr ReadJob kKind = ReadJob::python;
    using Answer = PythonSearch;
    pid_t pid = 0;
    std::uint64_t number = 0;
    auto fields() { return std::tie(pid, number); }
    pid_t asked_of() const { return pid; }
};

struct CodeJob {  // a code object that the BPF program has sent truncated
    static constexpr ReadJob kKind = ReadJob::code;
    using Answer = PythonCode;
    pid_t pid = 0;
    ms_python layout{};
    std::uint64_t address = 0;
    PythonCode code{};
    auto fields() { return std::tie(pid, layout, address, code); }
    pid_t asked_of() const { return pid; }
};

struct ModuleJob {
    static constexpr ReadJob kKind = ReadJob::module;
    using Answer = ModulePlace;
    pid_t pid = 0;
    MappedRange mapped{};
    std::uint64_t headers = 0;
    auto fields() { return std::tie(pid, mapped, headers); }
    pid_t asked_of() const { return pid; }
};

struct SymbolsJob {
    static constexpr ReadJob kKind = ReadJob::symbols;
    using Answer = LoadedModule;
    ModuleWanted wanted{};
    auto fields() { return std::tie(wanted); }
    pid_t asked_of() const { return wanted.pid; }
};

struct SharingAnswer {
    bool gone = false;
    ReadSchedule::Cost cost{};
    SharingReading reading{};
    auto fields() { return std::tie(gone, cost, reading); }
};
struct SharingJob {
    static constexpr ReadJob kKind = ReadJob::sharing;
    using Answer = SharingAnswer;
    ProcessId id{};
    bool whole = true;
    std::uint64_t number = 0;
    auto fields() { return std::tie(id, whole, number); }
    pid_t asked_of() const { return id.pid; }
};

enum class LibraryKind : std::uint32_t { cuda, gpu_tensors, host_tensors };
struct LibraryAnswer {
    Fd file{};  // O_PATH, because closing a FUSE file that is open for reading waits for its server
    std::vector<CudaPlace> cuda{};
    std::vector<GpuTensorPlace> gpu_tensors{};
    std::vector<HostTensorPlace> host_tensors{};
    auto fields() { return std::tie(file, cuda, gpu_tensors, host_tensors); }
};
struct LibraryJob {
    static constexpr ReadJob kKind = ReadJob::library;
    using Answer = LibraryAnswer;
    LibraryKind kind = LibraryKind::cuda;
    pid_t pid = 0;
    MappedRange mapped{};
    auto fields() { return std::tie(kind, pid, mapped); }
    pid_t asked_of() const { return pid; }
};

struct ShmJob {  // the fullest /dev/shm of some mount namespaces
    static constexpr ReadJob kKind = ReadJob::shm;
    using Answer = std::optional<ShmUsage>;
    std::vector<std::uint64_t> namespaces{};
    std::vector<pid_t> members{};  // one process of each namespace
    std::uint64_t number = 0;
    auto fields() { return std::tie(namespaces, members, number); }
    pid_t asked_of() const { return members.empty() ? 0 : members.front(); }
};

struct NodesJob {  // the NUMA nodes that a process may use
    static constexpr ReadJob kKind = ReadJob::nodes;
    using Answer = std::vector<int>;
    pid_t pid = 0;
    std::uint64_t number = 0;
    std::vector<int> memory_nodes{};
    auto fields() { return std::tie(pid, number, memory_nodes); }
    pid_t asked_of() const { return pid; }
};

struct HeapJob {  // a census of the heap; only for ReadHelpers::heap
    static constexpr ReadJob kKind = ReadJob::heap;
    using Answer = HeapCensus;
    pid_t pid = 0;
    std::uint64_t number = 0;
    bool objects = false;  // also of Python objects
    auto fields() { return std::tie(pid, number, objects); }
    pid_t asked_of() const { return pid; }
};

struct PagesAnswer {
    std::vector<std::uint64_t> absent{};
    std::uint64_t began_ns = 0;  // boot clock: when the read began
    Seconds cpu{};
    auto fields() { return std::tie(absent, began_ns, cpu); }
};
struct PagesJob {  // which of these pages of a process are gone
    static constexpr ReadJob kKind = ReadJob::pages;
    using Answer = PagesAnswer;
    ProcessId id{};
    std::uint64_t number = 0;
    std::vector<std::uint64_t> addresses{};  // ascending
    auto fields() { return std::tie(id, number, addresses); }
    pid_t asked_of() const { return id.pid; }
};

struct LengthsAnswer {
    std::vector<ContainerReading> readings{};  // as `places` of the job
    double time = 0;                           // seconds since 1970
    Seconds cpu{};
    auto fields() { return std::tie(readings, time, cpu); }
};
struct LengthsJob {  // the lengths of containers of Python; only for ReadHelpers::heap
    static constexpr ReadJob kKind = ReadJob::lengths;
    using Answer = LengthsAnswer;
    ProcessId id{};
    std::uint64_t number = 0;
    std::vector<ContainerPlace> places{};
    auto fields() { return std::tie(id, number, places); }
    pid_t asked_of() const { return id.pid; }
};

// Runs in a helper process: does jobs until the socket is closed.
void serve_read_jobs(const SysRoot& root, Fd socket);

// The helpers of a watcher: one for short jobs of a tick; one for long jobs, so that short jobs do not wait for them;
// one for threads that may wait; one with a memory limit for heap censuses and lengths of containers; and the probe
// holders. Must be started while the process has one thread.
struct ReadHelpers {
    ReadHelpers(const std::shared_ptr<HelperSpawner>& helpers, const SysRoot& root);
    // Whether user probes may be attached, and whether the kernel attaches several at once. This decides which
    // capabilities the probe holders keep.
    enum class Probes { none, at_once, one_by_one };
    static Result<std::shared_ptr<ReadHelpers>> start(const SysRoot& root, Probes probes = Probes::none);

    pid_t spawner;                    // the parent of all helpers
    std::function<bool()> can_start;  // false once the spawner was killed
    ProcessReader quick;
    ProcessReader slow;
    ProcessReader patient;  // for call() only
    ProcessReader heap;     // for HeapJob and LengthsJob
    ProbeHolders probes;

    void pump() {
        quick.pump();
        slow.pump();
        heap.pump();
    }
    void keep_answers(Seconds time) {
        for (ProcessReader* reader : {&quick, &slow, &heap}) reader->keep_answers(time);
    }
    std::uint64_t restarts() const { return quick.restarts() + slow.restarts() + patient.restarts() + heap.restarts(); }
    std::vector<Error> take_troubles();
};

// The reads of NativeSymbols, done by helpers. load() can be called from any thread, but with Wait::no only from the
// thread of the ticks. The other functions belong to the thread of the ticks.
class HelperReads : public NativeReads {
  public:
    explicit HelperReads(std::shared_ptr<ReadHelpers> helpers) : helpers_(std::move(helpers)) {}
    std::optional<Result<ProcessMaps>> maps(pid_t pid, std::uint64_t number) override;
    std::optional<Result<ModulePlace>> find(pid_t pid, const MappedRange& mapped, std::uint64_t headers) override;
    std::optional<Result<LoadedModule>> load(ModuleWanted wanted, Wait wait) override;

  private:
    std::shared_ptr<ReadHelpers> helpers_;
};

}  // namespace memscope
