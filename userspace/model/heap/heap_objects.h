#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/units.h"

// The result of a census of the Python objects of one process. All names come from the watched process: any bytes, but
// bounded in length by the reader. The result never contains values, contents of strings, or dict keys that may be
// data.
namespace memscope {

// All objects of one type.
struct ObjectsOfType {
    std::string type{};  // qualified name: "collections.deque", "__main__.Trainer"; a built-in type without its module
    std::uint64_t count = 0;
    Bytes bytes{};  // shallow, as sys.getsizeof counts, with the buffers of arrays and host tensors once
    auto fields() { return std::tie(type, count, bytes); }
};

// All tensors of one device, data type and shape.
struct TensorGroup {
    std::string device{};  // "cpu", "cuda:0"
    std::string dtype{};   // "float32"
    std::vector<std::uint64_t> shape{};
    bool only_native = false;  // C++ holds them (autograd graphs, optimizers): no Python object refers to them
    std::uint64_t count = 0;
    Bytes bytes{};  // of their storages, each storage once
    auto fields() { return std::tie(device, dtype, shape, only_native, count, bytes); }
};

// All tensors of one device.
struct TensorTotal {
    std::string device{};
    std::uint64_t tensors = 0;
    std::uint64_t storages = 0;
    Bytes bytes{};  // of the storages
    auto fields() { return std::tie(device, tensors, storages, bytes); }
};

// All numpy arrays of one data type and shape that own their data.
struct ArrayGroup {
    std::string dtype{};
    std::vector<std::uint64_t> shape{};
    std::uint64_t count = 0;
    Bytes bytes{};
    auto fields() { return std::tie(dtype, shape, count, bytes); }
};

// Where the path of a holder begins. JSON exports the names.
enum class HolderRoot { module, frame, thread, type, other };
std::string_view name_of(HolderRoot root);

// What a holder is. JSON exports the names.
enum class HolderKind {
    container,  // list, dict, set, deque
    tensor,     // with its autograd graph
    array,      // of numpy
    object,     // any other object of Python: an instance, bytes, a tuple, the head of a linked list
    native,     // an object of Python that retains mostly memory of native code
};
std::string_view name_of(HolderKind kind);

// How well the sizes of a holder are known.
enum class HolderReading {
    whole,
    torn,       // it changed while it was read: it may retain more
    estimated,  // from an earlier census and its length now
    missed,     // the sizes are those of an earlier census; how they have changed is not known
};

// An object of Python that retains memory, and the path of references that keeps it alive.
struct Holder {
    std::string
        path{};  // as a programmer writes it: "__main__.trainer.outputs", "run (train.py:88) history[3]['losses']"
    HolderRoot root = HolderRoot::other;
    HolderKind kind = HolderKind::container;
    std::uint64_t address = 0;  // of the object, which identifies it in another census of the process; 0: not known
    std::string type{};         // "list", "collections.deque"
    std::string element{};  // of most of its items: "torch.Tensor cuda:0 float32[1,128,512]"; empty: mixed or not known
    std::uint64_t length = 0;         // number of items of a container
    Bytes retained{};                 // host memory that would be freed with it
    Bytes retained_device{};          // GPU memory that would be freed with it
    std::uint64_t other_holders = 0;  // further objects that refer to it, besides the object on the path
    std::uint64_t within = 0;         // 1 + index of the nearest holder on its path; 0: none
    Bytes item_storage{};  // most items are small views, and each keeps a storage of this size alive; 0: they are not
    HolderReading reading = HolderReading::whole;
    auto fields() {
        return std::tie(path, root, kind, address, type, element, length, retained, retained_device, other_holders,
                        within, item_storage, reading);
    }
};

// Blocks of native code that have the same class or the same size.
struct NativeGroup {
    std::string type{};  // class in C++, from the symbol of its vtable; empty: not known
    Bytes size{};        // of one block
    std::uint64_t blocks = 0;
    Bytes bytes{};  // of all blocks, with what only they retain
    auto fields() { return std::tie(type, size, blocks, bytes); }
};

// Live memory of malloc that no reference reaches: native code has lost it.
struct NativeUnreached {
    Bytes bytes{};
    std::uint64_t blocks = 0;
    std::vector<NativeGroup> groups{};  // of the blocks to which nothing points at all; largest first
    auto fields() { return std::tie(bytes, blocks, groups); }
};

// Objects of Python that only refer to each other. Only objects all of whose references were found count.
struct Garbage {
    Bytes bytes{};         // host memory that would be freed with them
    Bytes device_bytes{};  // GPU memory that would be freed with them
    std::uint64_t objects = 0;
    std::vector<ObjectsOfType> types{};  // with what they retain, largest first
    bool through_native = false;         // C++ closes the cycles, so Python's collector cannot free them
    auto fields() { return std::tie(bytes, device_bytes, objects, types, through_native); }
};

// Objects of one type that have more references than were found in the whole process.
struct UnexplainedReferences {
    std::string type{};  // "array float32[3,72,72]", "bytes"
    std::uint64_t objects = 0;
    std::uint64_t references = 0;  // that were not found
    Bytes bytes{};                 // that these objects retain
    auto fields() { return std::tie(type, objects, references, bytes); }
};

// Why the objects of a Python process were not read.
enum class ObjectsRefusal {
    none,
    version,        // this version of CPython is not known
    debug_build,    // objects have another layout
    free_threaded,  // objects have another layout
    not_found,      // the interpreter's state was not found: it starts or exits, or its pages are not present
};
std::string_view name_of(ObjectsRefusal refusal);

// Who owns the live memory of the heap: blocks of malloc and of pymalloc, and large mappings. The rest of `live`
// belongs to nobody that is known.
struct HeapOwners {
    Bytes live{};
    Bytes attributed{};  // an owner with a path holds it: an object of Python, the data of a library, a stack
    Bytes probable{};    // only uncertain references hold it
    double read = 1;     // share of `live` that was read; below 0.98 figures of lost memory are upper bounds
    auto fields() { return std::tie(live, attributed, probable, read); }
};

struct ObjectCensus;
Bytes approximate_size(const ObjectCensus& objects);  // of its own memory

struct ObjectCensus {
    ObjectsRefusal refusal = ObjectsRefusal::none;  // not `none`: everything else is empty
    std::uint64_t objects = 0;
    Bytes bytes{};                                 // of all objects, with buffers of arrays and host tensors
    std::vector<ObjectsOfType> types{};            // largest first
    std::vector<TensorGroup> tensors{};            // largest first
    std::vector<TensorTotal> tensor_totals{};      // by device
    std::vector<ArrayGroup> arrays{};              // largest first
    std::vector<Holder> holders{};                 // by retained bytes of host and device, largest first
    std::optional<std::string> tensors_refused{};  // PyTorch is there, but its layout was not recognized: why
    double references_explained = 0;               // share of reference counts that found references explain, 0 to 1
    // Share of the objects whose references were followed. Below 1 if they did not all fit into the memory of the
    // helper process: then objects by type are complete, but holders and retained bytes lack the rest.
    double sampled = 1;
    // Memory that a forked process still shares with its parent. Objects there are counted neither by type nor in
    // retained bytes: they are the parent's. None: it was not forked.
    std::optional<Bytes> inherited{};
    std::optional<HeapOwners> owners{};  // none: not known, because the blocks of malloc could not be read
    std::optional<NativeUnreached> native_unreached{};
    std::optional<Garbage> garbage{};
    std::vector<UnexplainedReferences> unexplained{};  // known if `owners` is; most references first
    auto fields() {
        return std::tie(refusal, objects, bytes, types, tensors, tensor_totals, arrays, holders, tensors_refused,
                        references_explained, sampled, inherited, owners, native_unreached, garbage, unexplained);
    }
};

// A container, and how it has changed since an earlier census. A change that is not known is absent.
struct HolderChange {
    Holder holder{};  // its `within` has no meaning here, because not all holders are in the summary
    std::optional<std::int64_t> length_change{};
    std::optional<std::int64_t> retained_change{};  // bytes of host memory
    std::optional<std::int64_t> device_change{};    // bytes of GPU memory
    // Growth of the container itself, in bytes: without the growth of containers inside it that were there before.
    // 0 if the change is not known.
    std::int64_t own_host = 0;
    std::int64_t own_device = 0;
    std::optional<double> items_per_second{};  // from its lengths between censuses; none: not known
    std::optional<double> first_seen{};        // time of the first census that has it, seconds since 1970
};

// Growth that no holder explains.
struct OtherGrowth {
    std::string what{};  // "freed memory that malloc keeps"
    Bytes bytes{};
};

// Objects with references that nobody explains, and their change since an earlier census.
struct UnexplainedChange {
    UnexplainedReferences now{};
    std::optional<std::int64_t> objects_change{};
    std::optional<std::int64_t> bytes_change{};
};

// Objects of one type, or arrays or tensors of one shape, of which there are more than in the earlier census.
struct GrownKind {
    std::string element{};  // as in Holder
    std::uint64_t count = 0;
    Bytes bytes{};
    std::int64_t count_change = 0;
    std::int64_t bytes_change = 0;
    bool on_device = false;
    bool only_native = false;  // C++ holds them
    std::string held_by{};     // path of the holder that had most of them in the earlier census and is not in this one
};

// Memory of a process that no single holder explains. A change is absent if it is not known, or if only one census has
// the memory: nothing is called garbage or lost on one reading.
struct HeapCauses {
    static constexpr std::size_t kMostTypes = 4;  // in each list

    std::optional<HeapOwners> owners{};
    std::optional<Garbage> garbage{};
    std::optional<std::int64_t> garbage_change{};         // bytes of host memory
    std::optional<std::int64_t> garbage_device_change{};  // bytes of GPU memory
    std::optional<NativeUnreached> native_unreached{};
    std::optional<std::int64_t> native_change{};  // bytes
    std::vector<UnexplainedChange> unexplained{};
    std::optional<std::uint64_t> threads{};  // objects of the type threading.Thread
    std::optional<std::int64_t> threads_change{};
    std::vector<GrownKind> grown{};  // most bytes first
};

// A bounded summary of the Python objects of a process, for ticks, records and death reports. A whole ObjectCensus can
// have megabytes.
struct HeldObjects {
    static constexpr std::size_t kMostHolders = 10;
    static constexpr std::size_t kMostDevices = 16;

    double time = 0;                // of the census, seconds since 1970
    std::optional<Seconds> over{};  // time since the earlier census; none: there is none, and no change is known
    ObjectsRefusal refusal = ObjectsRefusal::none;
    std::uint64_t objects = 0;
    Bytes bytes{};                  // of all objects
    Bytes size{};                   // anonymous memory of the process, swapped-out memory included; 0: not known
    std::int64_t grown = 0;         // change of the anonymous memory of the process, swapped-out memory included
    std::int64_t device_grown = 0;  // change of its tensors on GPUs
    Bytes explained{};              // own growth of all containers that grew, in host memory
    Bytes device_explained{};       // own growth of these containers in GPU memory
    // The containers that grew most, or that hold most if no change is known. The last one may be a larger container
    // whose change is unknown.
    std::vector<HolderChange> holders{};
    // The container that outputs name as the largest holder. The search begins with the container that retains most. If
    // a container inside it retains more than half of that, the search goes on with the inner container, and so on.
    std::optional<Holder> most{};
    std::vector<TensorTotal> tensors{};  // by device
    std::vector<OtherGrowth> others{};   // largest first
    HeapCauses causes{};
    std::uint64_t alike = 0;  // other processes of the role and rank that have about the same size
};

}  // namespace memscope
