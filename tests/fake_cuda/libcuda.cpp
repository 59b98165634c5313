// A CUDA driver without a device, for tests: it hands out addresses, has a limited number of bytes and knows contexts.
// An observer of its calls sees no difference to a real driver. Where a real one would, it reuses freed addresses.
//
// FAKE_CUDA_BYTES: bytes of each device. FAKE_CUDA_DEVICES: number of devices.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <unordered_map>
#include <vector>

namespace {

constexpr int kDone = 0;
constexpr int kInvalidValue = 1;
constexpr int kOutOfMemory = 2;
constexpr int kInvalidContext = 201;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
    const char* text = std::getenv(variable);
    return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

struct Context {
    int device = 0;
};

struct Allocation {
    std::uint64_t bytes = 0;
    int device = 0;
    bool of_host = false;
};

struct Handle {
    std::uint64_t bytes = 0;
    int device = 0;
    int references = 1;
    int mappings = 0;
};

struct Mapping {
    std::uint64_t bytes = 0;
    std::uint64_t handle = 0;
};

struct Driver {
    std::mutex mutex{};
    std::uint64_t budget = number_from("FAKE_CUDA_BYTES", std::uint64_t{1} << 50);
    int devices = static_cast<int>(number_from("FAKE_CUDA_DEVICES", 2));
    std::map<int, std::uint64_t> used{};
    std::map<int, Context> primaries{};
    std::unordered_map<std::uint64_t, Allocation> live{};
    std::map<std::uint64_t, Mapping> mapped{};
    std::unordered_map<std::uint64_t, Handle> handles{};                    // as long as their memory lives
    std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> freed{};  // by size
    std::uint64_t next_address = 0x700000000000;
    std::uint64_t next_handle = 1;
    bool frees_fail = false;
};

Driver& driver() {
    static Driver* the_one = new Driver;  // it outlives all threads
    return *the_one;
}

thread_local std::vector<Context*> current;

std::uint64_t address_for(Driver& its, std::uint64_t bytes) {
    auto& again = its.freed[bytes];
    if (!again.empty()) {
        const std::uint64_t address = again.back();
        again.pop_back();
        return address;
    }
    const std::uint64_t address = its.next_address;
    its.next_address += (bytes + 511) & ~std::uint64_t{511};
    return address;
}

int take(std::uint64_t* address, std::uint64_t bytes) {
    if (bytes == 0) return kInvalidValue;
    if (current.empty()) return kInvalidContext;
    Driver& its = driver();
    const std::lock_guard lock(its.mutex);
    const int device = current.back()->device;
    if (its.used[device] + bytes > its.budget) return kOutOfMemory;
    its.used[device] += bytes;
    *address = address_for(its, bytes);
    its.live[*address] = {bytes, device};
    return kDone;
}

int give(std::uint64_t address) {
    Driver& its = driver();
    const std::lock_guard lock(its.mutex);
    const auto found = its.live.find(address);
    if (found == its.live.end() || found->second.of_host || its.frees_fail) return kInvalidValue;
    its.used[found->second.device] -= found->second.bytes;
    its.freed[found->second.bytes].push_back(address);
    its.live.erase(found);
    return kDone;
}

void forget_device(int device) {
    Driver& its = driver();
    const std::lock_guard lock(its.mutex);
    std::erase_if(its.live, [&](const auto& entry) { return entry.second.device == device; });
    its.used[device] = 0;
}

// Physical memory lives until its handle has neither a reference nor a mapping left.
void free_if_unused(Driver& its, std::uint64_t handle) {
    const auto found = its.handles.find(handle);
    if (found->second.references > 0 || found->second.mappings > 0) return;
    its.used[found->second.device] -= found->second.bytes;
    its.handles.erase(found);
}

int create_context(void** context, int device) {
    *context = new Context{device};
    current.push_back(static_cast<Context*>(*context));
    return kDone;
}

struct Location {
    int type = 0;
    int id = 0;
};
struct AllocationProp {  // the beginning of CUmemAllocationProp
    int type = 0;
    int handle_types = 0;
    Location location{};
};
static_assert(sizeof(AllocationProp) == 16);

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the driver's own names
extern "C" {
#pragma GCC visibility push(default)

int cuInit(unsigned) { return kDone; }
int cuDeviceGetCount(int* count) {
    *count = driver().devices;
    return kDone;
}
int cuDeviceGetUuid(unsigned char* uuid, int device) {
    std::memset(uuid, 0xab, 16);
    uuid[15] = static_cast<unsigned char>(device);
    return kDone;
}
int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
    const int result = cuDeviceGetUuid(uuid, device);
    asm volatile("" ::: "memory");  // a call inside a call
    return result;
}

int cuDevicePrimaryCtxRetain(void** context, int device) {
    Driver& its = driver();
    const std::lock_guard lock(its.mutex);
    its.primaries[device].device = device;
    *context = &its.primaries[device];
    return kDone;
}
int cuDevicePrimaryCtxRelease_v2(int) { return kDone; }
int cuDevicePrimaryCtxReset_v2(int device) {
    forget_device(device);
    return kDone;
}
int cuCtxCreate_v2(void** context, unsigned, int device) { return create_context(context, device); }
int cuCtxCreate_v3(void** context, void*, int, unsigned, int device) { return create_context(context, device); }
int cuCtxCreate_v4(void** context, void*, unsigned, int device) { return create_context(context, device); }
int cuCtxDestroy_v2(void* context) {
    std::erase(current, static_cast<Context*>(context));
    forget_device(static_cast<Context*>(context)->device);
    return kDone;
}
int cuCtxSetCurrent(void* context) {
    if (!current.empty()) current.pop_back();
    if (context) current.push_back(static_cast<Context*>(context));
    return kDone;
}
int cuCtxPushCurrent_v2(void* context) {
    current.push_back(static_cast<Context*>(context));
    return kDone;
}
int cuCtxPopCurrent_v2(void** context) {
    if (current.empty()) return kInvalidContext;
    if (context) *context = current.back();
    current.pop_back();
    return kDone;
}

int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) { return take(address, bytes); }
int cuMemAllocPitch_v2(std::uint64_t* address, std::size_t* pitch, std::size_t width, std::size_t height, unsigned) {
    *pitch = (width + 511) & ~std::size_t{511};
    return take(address, *pitch * height);
}
int cuMemAllocManaged(std::uint64_t* address, std::size_t bytes, unsigned) { return take(address, bytes); }
int cuMemFree_v2(std::uint64_t address) { return give(address); }
int cuMemAllocAsync(std::uint64_t* address, std::size_t bytes, void*) { return take(address, bytes); }
int cuMemAllocAsync_ptsz(std::uint64_t* address, std::size_t bytes, void* stream) {
    return cuMemAllocAsync(address, bytes, stream);  // continues there, with the same stack
}
int cuMemAllocFromPoolAsync(std::uint64_t* address, std::size_t bytes, void*, void*) { return take(address, bytes); }
int cuMemAllocFromPoolAsync_ptsz(std::uint64_t* address, std::size_t bytes, void*, void* stream) {
    const int result = cuMemAllocAsync(address, bytes, stream);
    asm volatile("" ::: "memory");
    return result;
}
int cuMemFreeAsync(std::uint64_t address, void*) { return give(address); }
int cuMemFreeAsync_ptsz(std::uint64_t address, void*) { return give(address); }

int cuMemCreate(std::uint64_t* handle, std::size_t bytes, const AllocationProp* prop, unsigned long long) {
    Driver& its = driver();
    const std::lock_guard lock(its.mutex);
    const int device = prop->location.id;
    if (its.used[device] + bytes > its.budget) return kOutOfMemory;
    its.used[device] += bytes;
    *handle = its.next_handle++;
    its.handles[*handle] = {bytes, device};
    return kDone;
}
int cuMemRelease(std::uint64_t handle) {
    Driver& its = driver();
    const std::lock_guard lock(its.mutex);
    const auto found = its.handles.find(handle);
    if (found == its.handles.end() || found->second.references == 0 || its.frees_fail) return kInvalidValue;
    --found->second.references;
    free_if_unused(its, handle);
    return kDone;
}
int cuMemRetainAllocationHandle(std::uint64_t* handle, void* address) {
    Driver& its = driver();
    const std::lock_guard lock(its.mutex);
    const auto found = its.mapped.find(reinterpret_cast<std::uint64_t>(address));
    if (found == its.mapped.end()) return kInvalidValue;
    *handle = found->second.handle;
    ++its.handles[*handle].references;
    return kDone;
}
// A handle to memory of another process, so its bytes do not count for this process.
int cuMemImportFromShareableHandle(std::uint64_t* handle, void*, int) {
    Driver& its = driver();
    const std::lock_guard lock(its.mutex);
    *handle = its.next_handle++;
    its.handles[*handle] = {};
    return kDone;
}
int cuMemAddressReserve(std::uint64_t* address, std::size_t bytes, std::size_t, std::uint64_t, unsigned long long) {
    Driver& its = driver();
    const std::lock_guard lock(its.mutex);
    constexpr std::uint64_t kPiece = std::uint64_t{2} << 20;
    its.next_address = (its.next_address + kPiece - 1) & ~(kPiece - 1);
    *address = its.next_address;
    its.next_address += bytes;
    return kDone;
}
int cuMemMap(std::uint64_t address, std::size_t bytes, std::size_t, std::uint64_t handle, unsigned long long) {
    Driver& its = driver();
    const std::lock_guard lock(its.mutex);
    if (!its.handles.contains(handle) || its.mapped.contains(address)) return kInvalidValue;
    its.mapped[address] = {bytes, handle};
    ++its.handles[handle].mappings;
    return kDone;
}
int cuMemUnmap(std::uint64_t address, std::size_t bytes) {
    Driver& its = driver();
    const std::lock_guard lock(its.mutex);
    auto each = its.mapped.lower_bound(address);
    if (each == its.mapped.end() || each->first != address) return kInvalidValue;
    while (each != its.mapped.end() && each->first < address + bytes) {
        const std::uint64_t handle = each->second.handle;
        each = its.mapped.erase(each);
        --its.handles[handle].mappings;
        free_if_unused(its, handle);
    }
    return kDone;
}

int cuMemHostAlloc(void** address, std::size_t bytes, unsigned) {
    if (current.empty()) return kInvalidContext;
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return kOutOfMemory;
    Driver& its = driver();
    const std::lock_guard lock(its.mutex);
    its.live[reinterpret_cast<std::uint64_t>(memory)] = {bytes, current.back()->device, true};
    *address = memory;
    return kDone;
}
int cuMemAllocHost_v2(void** address, std::size_t bytes) {
    const int result = cuMemHostAlloc(address, bytes, 0);
    asm volatile("" ::: "memory");
    return result;
}
int cuMemFreeHost(void* address) {
    Driver& its = driver();
    const std::lock_guard lock(its.mutex);
    const auto found = its.live.find(reinterpret_cast<std::uint64_t>(address));
    if (found == its.live.end() || !found->second.of_host) return kInvalidValue;
    ::munmap(address, found->second.bytes);
    its.live.erase(found);
    return kDone;
}
int cuMemHostRegister_v2(void*, std::size_t, unsigned) { return kDone; }
int cuMemHostUnregister(void*) { return kDone; }

// Not a function of the driver. Switches on or off that frees fail.
void fake_cuda_let_frees_fail(int fail) { driver().frees_fail = fail != 0; }

#pragma GCC visibility pop
}
// NOLINTEND(readability-identifier-naming)
