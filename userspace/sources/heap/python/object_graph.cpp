#include "sources/heap/python/object_graph.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <ranges>

#include "sources/heap/python/object_cycles.h"
#include "sources/heap/python/running_variables.h"
#include "sources/python/python_code.h"

namespace memscope {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kLeastCopy = 8 * kMiB;
constexpr std::uint64_t kLargeLeaf = 64 << 10;  // bytes of a string or a number that is a node, so that it has a path
constexpr std::size_t kFirstIndex = std::size_t{1} << 16;
// Bytes for each node and edge: of the graph, and of dominators and paths.
constexpr std::uint64_t kPerNode = 4 + 2 + 2 + 4 + 1, kPerEdge = 4;
constexpr std::uint64_t kLaterPerNode = 36, kLaterPerEdge = 4;

bool is_library_file(std::string_view file) {
    return file.empty() || file.starts_with('<') || file.find("/site-packages/") != std::string_view::npos ||
           file.find("/dist-packages/") != std::string_view::npos ||
           file.find("/lib/python3") != std::string_view::npos;
}

}  // namespace

NodeIndex::NodeIndex(std::size_t expected) : table_(std::bit_ceil(std::max<std::size_t>(2 * expected, 1 << 12))) {
    mask_ = table_.size() - 1;
    shift_ = 64 - static_cast<unsigned>(std::countr_zero(table_.size()));
}

ObjectGraph::ObjectGraph(ObjectReader& reader, TorchObjects& torch, PythonPools& pools, std::uint64_t most_bytes,
                         const PresentPages* inherited, NativeBlocks* blocks)
    : reader_(reader),
      data_(reader.data()),
      memory_(reader.memory()),
      torch_(torch),
      pools_(pools),
      most_bytes_(most_bytes),
      inherited_(inherited),
      running_(reader.types().add_pseudo_type("frame", ObjectKind::running)),
      rereads_(reader, pools),
      pooled_(pools, most_bytes / 8),
      index_(kFirstIndex),
      blocks_(blocks),
      in_order_(pooled_.has_room()) {
    begin();
}

void ObjectGraph::begin() {
    bytes_.push_back(0);  // node 0 stands for all roots
    type_.push_back(0);
    kinds_.resize(1);
    found_.push_back(0);
    edges_.next_node();
    prefetched_ = 0;
    until_checked_ = 0;
}

std::uint64_t ObjectGraph::memory() const {
    return std::uint64_t{count()} * kPerNode + others_.bytes() + pooled_.bytes() + edges_.size() * kPerEdge +
           index_.bytes();
}

std::uint64_t ObjectGraph::later_memory() const {
    return std::uint64_t{count()} * kLaterPerNode + edges_.size() * kLaterPerEdge;
}

bool ObjectGraph::is_full() {
    constexpr std::uint32_t kOnceIn = 256;  // calls
    if (until_checked_-- > 0) return was_full_;
    until_checked_ = kOnceIn;
    // A hash table that grows needs the old one for a moment.
    was_full_ = memory() + index_.bytes() / 2 + later_memory() + kLeastCopy + 4 * kMiB > most_bytes_ ||
                edges_.size() >= ~std::uint32_t{0} - kMostItems;
    return was_full_;
}

// As size_of(), without the parts that are inherited.
std::uint64_t ObjectGraph::own_size(Address object, const PythonType& type) {
    const std::uint64_t size = reader_.size_of(object, type);
    if (inherited_ == nullptr) return size;
    const HeapRange buffer = reader_.buffer_of(object, type);
    const std::uint64_t outside = std::min(size, buffer.size());
    return own_bytes(object - type.head, size - outside) + own_bytes(buffer.start, outside);
}

void ObjectGraph::count(Address object, const PythonType& type, std::uint64_t bytes) {
    if (is_inherited(object)) return;
    if (by_type_.size() <= type.index) by_type_.resize(type.index + 1);
    ++by_type_[type.index].count;
    by_type_[type.index].bytes += bytes;
}

void ObjectGraph::note(Address object, const PythonType& type) {
    constexpr std::size_t kMost = std::size_t{1} << 20;
    if (type.kind == ObjectKind::tensor) {
        if (tensors_.size() < kMost)
            tensors_.push_back(object);
        else
            ++gaps_.left_out;
    }
    if (type.kind == ObjectKind::ndarray) {
        if (arrays_.size() < kMost)
            arrays_.push_back(object);
        else
            ++gaps_.left_out;
        const NumpyArray array = reader_.arrays().read(object);
        if (array.owns_data && array.bytes > 0 && array_data_.size() < kMost) array_data_.insert(array.data);
    }
}

// Copies the frames of all threads together with the pools.
void ObjectGraph::copy_frames() {
    std::vector<Address> frames;
    for (const Address interpreter : interpreters())
        for (const Address thread : threads_of(interpreter))
            std::ranges::copy(frames_of(thread), std::back_inserter(frames));
    RunningVariables(reader_, pools_).read(frames);
}

// Counts all objects in pools by type, and makes them nodes. If a copy of all pools fits into memory, it is made first
// and without interruption, so that little of it is torn.
void ObjectGraph::read_pools() {
    std::uint64_t bytes = 0;
    for (const HeapRange& arena : pools_.arenas()) bytes += arena.size();
    copied_whole_ = bytes <= memory_.limit() * 3 / 4;
    if (copied_whole_) memory_.copy(pools_.arenas());
    copy_frames();
    for (std::size_t i = 0; i < pools_.arenas().size(); ++i) {
        if (!copied_whole_) memory_.copy(pools_.arenas().subspan(i, 1), HeapCopy::Use::once);
        read_arena(i);
    }
    pooled_.finish();
    gaps_.late |= memory_.late();
}

void ObjectGraph::read_arena(std::size_t arena) {
    gaps_.torn += pools_.read(memory_, arena, [&](const PythonPools::Block& block) {
        Address object = 0;
        const PythonType* type = reader_.object_in(block, object);
        if (type == nullptr) {
            raw_pool_bytes_ += block.bytes;
            return;
        }
        const bool is_dict = type->kind == ObjectKind::dict;
        const std::uint64_t size = is_dict ? 0 : own_size(object, *type);
        if (!is_dict) count(object, *type, size);
        note(object, *type);
        const NodeNumber before = this->count();
        if (in_order_) add_pooled(object, *type, size);
        if (is_dict) dicts_.push_back({object, type, in_order_ && this->count() > before ? before : 0});
    });
    count_dicts();
}

// The sizes of dicts are in their keys, which lie anywhere. The pages are read together.
void ObjectGraph::count_dicts() {
    constexpr std::size_t kAtOnce = 512;
    std::vector<Address> addresses;
    for (std::size_t i = 0; i < dicts_.size(); ++i) {
        if (i % kAtOnce == 0) {
            addresses.clear();
            for (std::size_t k = i; k < std::min(i + kAtOnce, dicts_.size()); ++k)
                addresses.push_back(memory_.word(dicts_[k].object + object_offsets::kDictKeys));
            memory_.prefetch(addresses);
        }
        const Dict& dict = dicts_[i];
        const std::uint64_t size = own_size(dict.object, *dict.type);
        count(dict.object, *dict.type, size);
        if (in_order_ && dict.node != 0) add_bytes(dict.node, size);
    }
    dicts_.clear();
}

void ObjectGraph::add_pooled(Address object, const PythonType& type, std::uint64_t size) {
    const bool fits_its_block = !type.bytearray;
    if (type.kind == ObjectKind::leaf && fits_its_block && data_.references(object) == 1) {
        pooled_.add_leaf(object);
    } else if (is_full()) {
        restart_from_roots();
    } else if (pooled_.add(object)) {
        describe(type);
        add_bytes(count() - 1, size);
        make_room();
    }
}

// The graph does not fit into memory with all objects. It is built again, from the roots on.
void ObjectGraph::restart_from_roots() {
    in_order_ = overflow_ = false;
    pooled_.clear();
    others_ = {};
    bytes_ = {};
    type_ = {};
    found_ = {};
    large_ = {};
    edges_ = {};
    index_ = NodeIndex(kFirstIndex);
    reached_ = {};
    device_ = {};
    roots_ = {};
    uncertain_ = {};
    torn_ = {};
    large_containers_ = {};
    stale_ = {};
    native_words_ = {};
    claimed_pool_bytes_ = outside_bytes_ = 0;
    if (blocks_ != nullptr) blocks_->forget_claims();
    begin();
    make_room();
}

void ObjectGraph::describe(const PythonType& type) {
    bytes_.push_back(0);
    type_.push_back(static_cast<std::uint16_t>(type.index));
    if (type.index >= kinds_.size()) kinds_.resize(type.index + 1);
    kinds_[type.index] = type.kind;
    found_.push_back(0);
}

void ObjectGraph::add_bytes(NodeNumber node, std::uint64_t bytes) {
    std::uint32_t& known = bytes_[node];
    if (known == kLarge) {
        large_[node] += bytes;
    } else if (bytes >= kLarge - known) {
        large_[node] = known + bytes;
        known = kLarge;
    } else {
        known += static_cast<std::uint32_t>(bytes);
    }
}

// The graph takes memory from the copy.
void ObjectGraph::make_room() {
    constexpr std::uint32_t kOnceIn = 65536;
    if (count() % kOnceIn != 1) return;
    const std::uint64_t left = most_bytes_ - std::min(most_bytes_, memory() + 4 * kMiB);
    memory_.limit_to(std::clamp(left, kLeastCopy, std::max(kLeastCopy, most_bytes_ / 8 * 7)));
}

NodeNumber ObjectGraph::add(Address address, const PythonType& type) {
    if (is_full() || count() >= ObjectEdges::kMostNodes) {
        overflow_ = true;
        ++gaps_.left_out;
        return 0;
    }
    const NodeNumber node = count();
    if (type.kind != ObjectKind::running)
        claim(address, node, is_native(type.kind) ? NativeBlocks::Kind::cpp : NativeBlocks::Kind::object);
    others_.push_back(address);
    describe(type);
    index_.add(node, address_of());
    make_room();
    return node;
}

// The node of an object. 0: there is no object, or it is a number or a string that only `referrer` holds. `exact`: the
// word is surely a reference.
NodeNumber ObjectGraph::node_of(Address target, NodeNumber referrer, bool exact) {
    if (target < ObjectData::kLowest || target % 8 != 0 || target >> 56U != 0) return 0;
    const std::size_t arena = pools_.arena_at(target);
    const bool in_pool = arena != PythonPools::kNoArena;
    if (in_pool) {
        const NodeNumber known = pooled_.find(arena, target);
        if (known == PoolObjects::kLeaf) {
            if (!is_closed_ && !is_inherited(target)) add_bytes(referrer, pools_.block_bytes(arena, target));
            return 0;
        }
        if (known != 0) return known;
    }
    Address& no_object = no_objects_[target / 16 % kNoObjects];
    if (no_object == target && !(exact && in_pool)) return 0;
    if (const NodeNumber known = index_.find(target, address_of()); known != 0) return known;
    if (is_closed_) return 0;
    const PythonType* type = reader_.types().of(target);
    if (exact && in_pool && copied_whole_ && (type == nullptr || !data_.is_alive(target))) {
        if (rereads_.revive(target)) {
            type = reader_.types().of(target);
            if (type != nullptr && type->kind == ObjectKind::ndarray) (void)reader_.arrays().remember(target);
        } else if (referrer != 0 && stale_.size() < kMostStale) {
            stale_.push_back(referrer);
        }
    }
    if (type == nullptr || !data_.is_alive(target) || !reader_.has_sound_place(target, *type)) {
        no_object = target;
        return 0;
    }
    if (type->kind == ObjectKind::leaf) {
        const MappedRange* range = in_pool ? nullptr : memory_.range_at(target);
        if (range != nullptr && range->inode != 0) {  // None, True and the like
            no_object = target;
            return 0;
        }
        const std::uint64_t size = data_.references(target) == 1 ? own_size(target, *type) : kLargeLeaf;
        if (size < kLargeLeaf) {
            add_bytes(referrer, size);
            claim(target, referrer, NativeBlocks::Kind::object);
            if (!in_pool) count(target, *type, size);
            return 0;
        }
    }
    const NodeNumber node = add(target, *type);
    if (!in_pool && node != 0) {
        count(target, *type, own_size(target, *type));
        note(target, *type);
    }
    if (node == 0 && data_.references(target) == 1) add_bytes(referrer, own_size(target, *type));
    return node;
}

NodeNumber ObjectGraph::native_node_of(Address target, const PythonType& type) {
    const NodeNumber known = index_.find(target, address_of());
    return known != 0 || is_closed_ ? known : add(target, type);
}

void ObjectGraph::link(NodeNumber from, NodeNumber target, Slot slot) {
    if (slot.kind == Slot::maybe_stack) {
        constexpr std::size_t kMostUncertain = std::size_t{1} << 20;
        constexpr std::uint8_t kCost = 6;
        if (uncertain_.size() < kMostUncertain)
            uncertain_.push_back({ObjectRoot::temporary, kCost, target, address(from)});
        return;
    }
    if (found_[target] < kMostFound) ++found_[target];
    // A module has a name of its own, which tells more than the name of a module that imported it.
    const std::uint32_t cost = kind(target) == ObjectKind::module ? ObjectEdges::kHighestCost : cost_of(slot.kind);
    if (target == from || edges_.merge_with_last(target, cost)) return;
    if (is_full()) {
        overflow_ = true;
        ++gaps_.left_out;
    } else {
        edges_.add(target, cost);
    }
}

void ObjectGraph::claim(Address address, NodeNumber node, NativeBlocks::Kind kind) {
    if (blocks_ == nullptr || is_closed_ || address < ObjectData::kLowest) return;
    if (const std::size_t arena = pools_.arena_at(address); arena != PythonPools::kNoArena)
        claimed_pool_bytes_ += kind == NativeBlocks::Kind::buffer ? pools_.block_bytes(arena, address) : 0;
    else
        blocks_->claim(address, node, kind);
}

// Memory outside of an object that belongs to it alone.
void ObjectGraph::claim_buffers(NodeNumber node) {
    constexpr auto kBuffer = NativeBlocks::Kind::buffer;
    constexpr std::uint64_t kDequeFirst = 24, kDequeNext = std::uint64_t{65} * 8, kInDequeBlock = 64;
    if (blocks_ == nullptr || is_closed_) return;
    const PythonType& its = type(node);
    const Address object = address(node);
    if (const HeapRange buffer = reader_.buffer_of(object, its); buffer.size() > 0) {
        claim(buffer.start, node, kBuffer);
        note_outside(buffer);
    }
    if (reader_.layout().version == 311 && (its.flags & type_flags::kManagedDict) != 0)
        claim(memory_.word(object - 32), node, kBuffer);
    if (its.kind == ObjectKind::dict) {
        claim(memory_.word(object + object_offsets::kDictValues), node, kBuffer);
    } else if (its.kind == ObjectKind::type) {
        claim(memory_.word(object + reader_.layout().type_keys), node, kBuffer);
    } else if (its.kind == ObjectKind::deque) {
        Address block = memory_.word(object + kDequeFirst);
        for (std::uint64_t items = 0; items <= reader_.length(object, its) && block != 0 && !memory_.late();
             items += kInDequeBlock, block = memory_.word(block + kDequeNext))
            claim(block, node, kBuffer);
    } else if (its.kind == ObjectKind::ndarray) {
        // Elements that another library has allocated: the array knows their address, and C code owns them.
        const PythonType* base = reader_.types().of(memory_.word(object + NumpyArrays::kBase));
        const NumpyArray array = reader_.arrays().read(object);
        if (!array.owns_data && (base == nullptr || base->kind != ObjectKind::ndarray))
            note_native(node, array.data, Slot::field);
    }
}

// A job that makes a larger array in each step has a new mapping in each step.
void ObjectGraph::note_outside(const HeapRange& buffer) {
    if (blocks_ == nullptr || is_closed_ || buffer.size() < kLargeLeaf) return;
    if (blocks_->find(buffer.start) == NativeBlocks::kNone && !pools_.contains(buffer.start))
        outside_bytes_ += buffer.size();
}

void ObjectGraph::note_native(NodeNumber from, Address target, Slot::Kind kind) {
    constexpr std::size_t kMostWords = std::size_t{1} << 22;
    if (blocks_ == nullptr || is_closed_ || (kind != Slot::field && kind != Slot::module_state)) return;
    const NativeBlocks::Number block = blocks_->find(target);
    if (block != NativeBlocks::kNone && native_words_.size() < kMostWords) native_words_.push_back({from, block});
}

// Bytes that are freed with the object itself.
void ObjectGraph::weigh(NodeNumber node) {
    const PythonType& its = type(node);
    const Address object = address(node);
    if (its.kind == ObjectKind::storage_impl) {
        const auto storage = torch_.storage(object);
        if (!storage) return;
        if (storage->on_device)
            device_[node] = storage->bytes;
        else if (!array_data_.contains(storage->data)) {
            add_bytes(node, own_bytes(storage->data, storage->bytes));
            claim(storage->data, node, NativeBlocks::Kind::buffer);
            note_outside({storage->data, storage->data + storage->bytes});
        }
    } else if (is_native(its.kind)) {
        add_bytes(node, own_bytes(object, torch_.chunk_size(object)));
    } else {
        const bool is_known = node <= pooled_.count();  // since read_pools()
        const std::uint64_t values = is_inherited(object) ? 0 : reader_.values_size(object, its);
        add_bytes(node, (is_known ? 0 : own_size(object, its)) + values);
    }
}

void ObjectGraph::expand_node(NodeNumber node) {
    edges_.next_node();
    if (memory_.late()) {
        gaps_.late = true;
        return;
    }
    const PythonType& its = type(node);
    const Address object = address(node);
    // The copy may be newer than the copy in which the object was found.
    if (its.address != 0 && memory_.word(object + object_offsets::kType) != its.address &&
        !(its.kind == ObjectKind::ndarray && reader_.arrays().remembers(object))) {
        ++gaps_.torn;
        return;
    }
    // Without pools, tensors are found only while nodes are expanded.
    if (its.kind == ObjectKind::tensor && !torch_.is_ready() && tensors_.size() >= next_calibration_) {
        next_calibration_ = 2 * tensors_.size();
        torch_.calibrate(tensors_);
    }
    const Address items = rereads_.settle(object, its);
    claim_buffers(node);
    weigh(node);
    if (its.kind != ObjectKind::leaf || its.bytearray)
        references_of(node, [&](NodeNumber target, Slot slot) { link(node, target, slot); });
    if (items == 0 || reader_.buffer_of(object, its).size() < kLargeLeaf) return;
    large_containers_.push_back(node);
    if (rereads_.has_moved(object, its, items)) torn_.insert(node);
}

void ObjectGraph::expand() {
    std::size_t copied = PythonPools::kNoArena;  // arena that was copied last
    while (edges_.nodes() < count()) {
        const auto node = static_cast<NodeNumber>(edges_.nodes());
        if (in_order_) {
            if (overflow_) return;
            if (node <= pooled_.count() && pooled_.arena_of(node) != copied) {
                copied = pooled_.arena_of(node);
                if (!copied_whole_ || !memory_.has_copy_of(address(node)))
                    memory_.copy(pools_.arenas().subspan(copied, 1), HeapCopy::Use::once);
            }
        }
        prefetch(node);
        expand_node(node);
    }
}

// Copies what the next nodes need, because single reads of a page take most of the time.
void ObjectGraph::prefetch(NodeNumber node) {
    constexpr NodeNumber kAtOnce = 512;
    if (node < prefetched_ && node + kAtOnce > prefetched_) return;
    const NodeNumber end = std::min<NodeNumber>(count(), node + kAtOnce);
    std::vector<Address> addresses;
    if (node > pooled_.count()) {
        for (NodeNumber each = node; each < end; ++each) addresses.push_back(address(each));
        memory_.prefetch(addresses);
        addresses.clear();
    }
    for (NodeNumber each = node; each < end; ++each)
        if (const PythonType& its = type(each); !is_native(its.kind))
            reader_.pages_of(address(each), its, [&](Address at) { addresses.push_back(at); });
    memory_.prefetch(addresses);
    prefetched_ = end;
}

void ObjectGraph::add_root(ObjectRoot::Kind kind, std::uint8_t cost, Address address, std::uint64_t detail) {
    if (const NodeNumber node = node_of(address, 0); node != 0) roots_.push_back({kind, cost, node, detail});
}

std::vector<Address> ObjectGraph::interpreters() {
    constexpr std::size_t kMost = 64;
    const ms_python& stack = reader_.layout().stack;
    std::vector<Address> states;
    for (Address state = memory_.word(stack.runtime + stack.runtime_interpreters); state != 0 && states.size() < kMost;
         state = memory_.word(state + stack.interpreter_next))
        states.push_back(state);
    return states;
}

std::vector<Address> ObjectGraph::threads_of(Address interpreter) {
    constexpr std::size_t kMost = 4096;
    const ms_python& stack = reader_.layout().stack;
    std::vector<Address> threads;
    for (Address thread = memory_.word(interpreter + stack.interpreter_threads); thread != 0 && threads.size() < kMost;
         thread = memory_.word(thread + stack.thread_next))
        threads.push_back(thread);
    return threads;
}

// The innermost frame first.
std::vector<Address> ObjectGraph::frames_of(Address thread) {
    constexpr std::size_t kMost = 20000;
    const ms_python& stack = reader_.layout().stack;
    Address frame = memory_.word(thread + stack.thread_frame);
    if (stack.cframe_frame != MS_PYTHON_NO_OFFSET) frame = memory_.word(frame + stack.cframe_frame);
    std::vector<Address> frames;
    for (; frames.size() < kMost && frame >= ObjectData::kLowest && !memory_.late();
         frame = memory_.word(frame + stack.frame_previous))
        frames.push_back(frame);
    return frames;
}

// The arrays of running variables, also those that are newer than the copy of their pool.
void ObjectGraph::add_remembered_arrays() {
    for (const auto& [address, array] : reader_.arrays().remembered()) {
        const std::size_t arena = pools_.arena_at(address);
        const PythonType* type = reader_.types().of(address);
        const bool is_known = (arena != PythonPools::kNoArena && pooled_.find(arena, address) != 0) ||
                              index_.find(address, address_of()) != 0;
        if (is_known || type == nullptr || type->kind != ObjectKind::ndarray || add(address, *type) == 0) continue;
        count(address, *type, own_size(address, *type));
        note(address, *type);
    }
}

void ObjectGraph::add_threads(Address interpreter) {
    constexpr std::size_t kLongestFile = 250;
    constexpr std::uint8_t kOwn = 1, kOfLibrary = 4, kDeeper = 3, kMostDeep = 5;
    const ms_python& stack = reader_.layout().stack;
    for (const Address thread : threads_of(interpreter)) {
        const std::vector<Address> frames = frames_of(thread);
        // The outermost frame first, because of two equally short paths the first one is taken. The deeper a frame is,
        // the higher is its cost: the frames of `main` and `fit` are there in every census, those of the functions that
        // they call are not, and a path must be the same in each census.
        std::uint8_t depth = 0;
        for (const Address each : std::views::reverse(frames)) {
            const Address code = reader_.frame_code(each);
            if (!reader_.is_code(code)) continue;
            const bool of_library = is_library_file(data_.text(memory_.word(code + stack.code_file), kLongestFile));
            const auto cost = static_cast<std::uint8_t>((of_library ? kOfLibrary : kOwn) + kDeeper * depth);
            if (depth < kMostDeep) ++depth;
            if (reader_.layout().version == 310)
                add_root(ObjectRoot::frame, cost, each, each);
            else if (index_.find(each, address_of()) == 0)
                if (const NodeNumber node = add(each, running_); node != 0)
                    roots_.push_back({ObjectRoot::frame, cost, node, each});
        }
    }
}

void ObjectGraph::add_interpreters() {
    constexpr std::size_t kLongestFile = 250, kLongestName = 100;
    constexpr std::uint8_t kMain = 0, kOwn = 1, kOfLibrary = 4, kOther = 5;
    const ObjectLayout& layout = reader_.layout();
    for (const Address state : interpreters()) {
        data_.dict_entries(memory_.word(state + layout.interpreter_modules), [&](Address key, Address module) {
            const PythonType* type = reader_.types().of(module);
            if (type == nullptr) return;
            std::uint8_t cost = kOther;
            if (type->kind == ObjectKind::module) {
                const Address dict = memory_.word(module + object_offsets::kModuleDict);
                const std::string file = data_.text(data_.dict_get(dict, "__file__"), kLongestFile);
                cost = data_.text(key, kLongestName) == "__main__" ? kMain : is_library_file(file) ? kOfLibrary : kOwn;
            }
            add_root(ObjectRoot::module, cost, module, key);
        });
        add_remembered_arrays();
        add_threads(state);
    }
}

// Statics of the interpreter and of libraries are full of stale pointers: free lists, caches. They are roots only of
// objects that nothing else holds.
void ObjectGraph::add_uncertain_roots(std::span<const HeapRange> statics) {
    constexpr std::uint8_t kInterpreter = 30, kLibrary = 35;
    constexpr std::uint64_t kStateWords = 2048, kThreadWords = 32, kMostStatics = 64 * kMiB;
    const auto offer = [&](ObjectRoot::Kind kind, std::uint8_t cost, Address target) {
        const NodeNumber node = node_of(target, 0);
        if (node == 0) return;
        expand();
        reached_.resize(count());
        if (is_reached(node) || this->kind(node) == ObjectKind::leaf) return;
        roots_.push_back({kind, cost, node, 0});
        reach(node, kind);
    };
    for (const Address state : interpreters()) {
        for (const Address thread : threads_of(state))
            memory_.for_words(thread, kThreadWords, [&](std::uint64_t, Address target) {
                offer(ObjectRoot::interpreter, kInterpreter, target);
            });
        memory_.for_words(state, kStateWords,
                          [&](std::uint64_t, Address target) { offer(ObjectRoot::interpreter, kInterpreter, target); });
    }
    std::vector<std::byte> buffer(kMiB);
    std::uint64_t left = kMostStatics;
    for (const HeapRange& range : statics) {
        if (range.size() > left) continue;
        left -= range.size();
        for (Address at = range.start; at < range.end; at += buffer.size()) {
            const std::span<std::byte> part(buffer.data(), std::min<std::uint64_t>(buffer.size(), range.end - at));
            if (!memory_.read_past(at, part)) continue;
            for (std::size_t i = 0; i + 8 <= part.size(); i += 8) {
                Address target = 0;
                std::memcpy(&target, part.data() + i, sizeof target);
                if (pools_.contains(target)) offer(ObjectRoot::library, kLibrary, target);
            }
        }
    }
}

void ObjectGraph::reach(NodeNumber from, ObjectRoot::Kind kind) {
    const auto mark = static_cast<std::uint8_t>(kind + 1);
    if (from >= reached_.size() || is_reached(from)) return;
    reached_[from] = mark;
    waiting_.push_back(from);
    while (!waiting_.empty()) {
        const NodeNumber node = waiting_.back();
        waiting_.pop_back();
        for (std::uint32_t e = edges_.begin(node), end = edges_.end(node); e < end; ++e)
            if (const NodeNumber target = edges_.target(e); !is_reached(target)) {
                reached_[target] = mark;
                waiting_.push_back(target);
            }
    }
}

bool ObjectGraph::is_held_from_outside(NodeNumber node) {
    return !is_native(kind(node)) && found_[node] < kMostFound && data_.references(address(node)) > found_[node];
}

// Objects without a known path from a root: C code holds a reference, or they wait for the garbage collector.
void ObjectGraph::add_unreached() {
    constexpr std::uint8_t kNative = 40;
    for (std::size_t i = 0; i < pools_.arenas().size() && !in_order_ && !gaps_.late && !is_full(); ++i)
        pools_.read(memory_, i, [&](const PythonPools::Block& block) {
            Address object = 0;
            const PythonType* type = reader_.object_in(block, object);
            if (type == nullptr || type->kind == ObjectKind::leaf || index_.find(object, address_of()) != 0) return;
            add(object, *type);
        });
    expand();
    reached_.resize(count());
    const auto add_unless_reached = [&](const ObjectRoot& root) {
        if (is_reached(root.node)) return;
        roots_.push_back(root);
        reach(root.node, root.kind);
    };
    for (const ObjectRoot& root : uncertain_) add_unless_reached(root);  // temporary values of running frames
    // If some references were not read, an object without a path need not be unreachable.
    if (gaps_.late || memory_.late()) return;
    std::vector<NodeNumber> held;  // collected before reach(), because they may refer to one another
    for (NodeNumber node = 1; node < count(); ++node)
        if (!is_reached(node) && is_held_from_outside(node)) held.push_back(node);
    drop_freed(held);
    for (const NodeNumber node : held) roots_.push_back({ObjectRoot::native, kNative, node, 0});
    for (const NodeNumber node : held) reach(node, ObjectRoot::native);
    add_garbage();
}

// What nothing reaches, and all of whose references were found.
void ObjectGraph::add_garbage() {
    constexpr std::uint8_t kGarbage = 50;
    std::vector<NodeNumber> nodes;
    for (NodeNumber node = 1; node < count(); ++node)
        if (!is_reached(node)) nodes.push_back(node);
    if (nodes.empty()) return;
    const auto describe_node = [this](NodeNumber node) {
        const PythonType& its = type(node);
        const bool native = is_native(its.kind);
        const int rank = native ? 0 : !its.heap ? 1 : its.kind == ObjectKind::type ? 2 : 3;
        return CycleMember{.native = native, .refers_to_itself = found_[node] > 0, .rank = rank};
    };
    for (const ObjectCycle& cycle : find_cycles(edges_, nodes, describe_node)) {
        const auto kind = cycle.through_native ? ObjectRoot::cpp : ObjectRoot::garbage;
        roots_.push_back({kind, kGarbage, cycle.best, 0});
        reach(cycle.best, kind);
    }
}

void ObjectGraph::find_nodes(std::span<const HeapRange> statics) {
    add_interpreters();
    expand();
    follow_replaced();
    reached_.resize(count());
    for (const ObjectRoot& root : roots_) reach(root.node, root.kind);
    if (!(in_order_ && overflow_)) add_uncertain_roots(statics);
    if (!(in_order_ && overflow_)) add_unreached();
}

// The share of the reference counts that the found references explain, of all nodes or of samples.
void ObjectGraph::check_counts() {
    constexpr std::uint64_t kImmortal = std::uint64_t{1} << 30;
    constexpr NodeNumber kRun = 64, kMostAsked = 1U << 15U;
    const NodeNumber step = count() / kMostAsked + 1;  // checks one of so many runs of kRun nodes
    for (NodeNumber node = 1; node < count(); ++node) {
        if (node / kRun % step != 0) continue;
        const ObjectKind its = kind(node);
        if (is_native(its) || its == ObjectKind::running || its == ObjectKind::type || its == ObjectKind::leaf ||
            its == ObjectKind::tensor)
            continue;  // C++ points to tensors without counting; most numbers and strings are no nodes
        const std::uint64_t references = data_.references(address(node));
        if (references >= kImmortal || found_[node] == kMostFound) continue;
        ++asked_;
        explained_ += references == found_[node] ? 1 : 0;
        if (node % 1024 == 0 && memory_.late()) break;
    }
}

void ObjectGraph::build(std::span<const HeapRange> statics) {
    read_pools();
    if (!tensors_.empty()) {
        torch_.calibrate(tensors_);
        next_calibration_ = 2 * tensors_.size();
    }
    const std::vector<OfType> by_type = by_type_;
    const std::size_t tensors = tensors_.size(), arrays = arrays_.size();
    const Gaps gaps = gaps_;
    find_nodes(statics);
    if (in_order_ && overflow_) {
        by_type_ = by_type;
        tensors_.resize(tensors);
        arrays_.resize(arrays);
        gaps_ = gaps;
        restart_from_roots();
        find_nodes(statics);
    }
    check_counts();
    gaps_.late |= memory_.late();
    reached_.resize(count());
    waiting_ = {};
    is_closed_ = true;
}

double ObjectGraph::references_explained() const {
    return asked_ == 0 ? 0 : static_cast<double>(explained_) / static_cast<double>(asked_);
}

std::uint32_t ObjectGraph::cost_of(Slot::Kind kind) {
    switch (kind) {
        case Slot::dict_of:
            return 0;
        case Slot::item:
        case Slot::value:
        case Slot::attribute:
        case Slot::closure:
        case Slot::content:
        case Slot::local:
        case Slot::cache:
        case Slot::impl:
        case Slot::storage:
            return 1;
        case Slot::key:
        case Slot::member:
        case Slot::function_dict:
        case Slot::defaults:
        case Slot::base:
        case Slot::type_dict:
        case Slot::gradient:
        case Slot::python:
            return 2;
        case Slot::field:
        case Slot::wrapped:
        case Slot::grad_fn:
        case Slot::saved:
            return 3;
        case Slot::callback:
            return 5;
        case Slot::module_state:
        case Slot::maybe_stack:
        case Slot::stack:
            return 6;
        case Slot::code:
            return 8;
        case Slot::function_other:
            return 12;
        case Slot::type_of:
        case Slot::type_other:
        case Slot::globals:
            return 20;
    }
    return 20;
}

}  // namespace memscope
