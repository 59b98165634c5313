"""Containers in all the places where a program can keep them, each with a length of its own. Prints where they are, and
for each line of input the objects that Python itself can list."""
import builtins
import collections
import contextlib
import contextvars
import dataclasses
import functools
import gc
import json
import sys
import threading
import weakref

try:
    import numpy
except ImportError:
    numpy = None
try:
    import torch
except ImportError:
    torch = None
try:
    import pandas
except ImportError:
    pandas = None
try:
    from PIL import Image
except ImportError:
    Image = None

asyncio = None
with contextlib.suppress(ImportError):  # the smallest interpreters lack its modules in C
    import asyncio

# A task in C does not name its fields.
ASYNC_ROWS = r'__main__\.tasks\[0\](\.<Task>|\._coro)?: consume \(holders_job\.py:\d+\) rows'
EXPECTED = {}  # path, as a regular expression, by length


def fill(path, root='module'):
    """A new length, for a container that is at this path."""
    length = 2000 + len(EXPECTED)
    EXPECTED[length] = (path, root)
    return length


class Marker:
    def __init__(self, number):
        self.number = number


def markers(path, root='module'):
    return [Marker(i) for i in range(fill(path, root))]


class Trainer:
    def __init__(self):
        self.outputs = markers(r'__main__\.trainer\.outputs')
        self.history = {'loss': [], 'val': markers(r"__main__\.trainer\.history\['val'\]")}

    def run(self, ready):
        seen = markers(r'Trainer\.run \(holders_job\.py:\d+\) seen|run \(holders_job\.py:\d+\) seen', 'frame')
        ready()
        for _ in sys.stdin:
            print(json.dumps(truth()), flush=True)
        return seen


class Registry:
    entries = markers(r'__main__\.Registry\.entries', 'type')


class Run:
    """As the libraries that log metrics keep them."""
    def __init__(self):
        self.history = History()


class History:
    def __init__(self):
        self._data = [{'loss': Marker(i), 'step': i} for i in range(fill(r'__main__\.run\.history\._data'))]


class Slotted:
    __slots__ = ('items',)

    def __init__(self):
        self.items = markers(r'__main__\.slotted\.items')


@dataclasses.dataclass
class Config:
    values: list = dataclasses.field(default_factory=list)


@functools.lru_cache(maxsize=None)
def load(number):
    return (number, Marker(number))


@functools.lru_cache(maxsize=100_000)
def load_some(number):
    return [number]


def recorder():
    seen = markers(r'__main__\.note\.<seen>')

    def note(value):
        seen.append(value)
    return note


def produce():
    rows = markers(r'__main__\.produced: produce \(holders_job\.py:\d+\) rows')
    yield 1
    yield rows


async def work():
    results = markers(r'__main__\.coroutine: work \(holders_job\.py:\d+\) results')
    await Pause()
    return results


class Pause:
    def __await__(self):
        yield self


async def consume(stop):
    rows = markers(ASYNC_ROWS)
    await stop.wait()
    return rows


def loop_body(ready):
    async def serve():
        stop = asyncio.Event()
        tasks.append(asyncio.ensure_future(consume(stop)))
        await asyncio.sleep(0)
        ready.set()
        await stop.wait()
    asyncio.run(serve())


def callback_with(kept):
    def on_death(_):
        kept.append(1)
    return on_death


def raise_with_local():
    large = markers(r'__main__\.errors\[0\]\.__traceback__\.tb_next\.tb_frame: raise_with_local \(holders_job\.py:\d+\) large')
    raise ValueError(len(large))


def thread_body(ready, done):
    per_thread.buffers = markers(r'__main__\.per_thread\.buffers', 'thread')
    # Named by the outer of the two functions that hold it: that one is there in every census.
    batch = markers(r'thread_body \(holders_job\.py:\d+\) batch', 'frame')
    return wait_with(batch, ready, done)


def wait_with(items, ready, done):
    ready.set()
    done.wait()
    return items


CACHE = {f'SECRET {i}': Marker(i) for i in range(fill(r'__main__\.CACHE'))}
stats = [{}, {'losses': collections.deque(Marker(i) for i in range(fill(r"__main__\.stats\[1\]\['losses'\]")))}]
groups = collections.defaultdict(list, {'train': markers(r"__main__\.groups\['train'\]"), 'two words': markers(r'__main__\.groups\[…\]')})
recent = collections.OrderedDict((i, Marker(i)) for i in range(fill(r'__main__\.recent')))
seen_ids = {Marker(i) for i in range(fill(r'__main__\.seen_ids'))}
nested = ([(markers(r'__main__\.nested\[0\]\[0\]\[0\]'),)],)
slotted = Slotted()
run = Run()
config = Config(markers(r'__main__\.config\.values'))
for i in range(fill(r'__main__\.load\.<lru_cache>')):
    load(i)
for i in range(fill(r'__main__\.load_some\.<lru_cache>')):
    load_some(i)
note = recorder()
produced = produce()
next(produced)
coroutine = work()
coroutine.send(None)
target = Marker(0)
reference = weakref.ref(target, callback_with(markers(r'__main__\.reference\.<callback>\.<on_death>\.<kept>')))
weakref.finalize(target, print, markers(r'weakref\.finalize\._registry\[…\]\.args\[0\]', 'type'))
bound = functools.partial(print, markers(r'__main__\.bound\.args\[0\]'))
context = contextvars.ContextVar('request_items')
context.set(markers(r'__main__\.context\.<ContextVar>'))
errors = []
try:
    raise_with_local()
except ValueError as error:
    errors.append(error)
per_thread = threading.local()
ready, done = threading.Event(), threading.Event()
threading.Thread(target=thread_body, args=(ready, done), daemon=True).start()
ready.wait()
tasks = []
if asyncio:
    looping = threading.Event()
    threading.Thread(target=loop_body, args=(looping,), daemon=True).start()
    looping.wait()
trainer = Trainer()
if numpy:
    masks = [numpy.zeros((64, 32 + i % 2), numpy.float32) for i in range(fill(r'__main__\.masks'))]
if pandas:
    frames = [pandas.DataFrame({'x': numpy.arange(50.0) + i, 'y': numpy.arange(50) * i}) for i in range(fill(r'__main__\.frames'))]
if Image:
    images = [Image.new('RGB', (32, 24)) for i in range(fill(r'__main__\.images'))]
if torch:
    tensors = [torch.zeros(50 + i % 2, 8) for i in range(fill(r'__main__\.tensors'))]
    model = torch.nn.Sequential(collections.OrderedDict(layer1=torch.nn.Linear(16, 16), layer2=torch.nn.Linear(16, 4)))

    def keep_outputs(kept):
        def hook(module, inputs, output):
            kept.append(output.detach())
        return hook
    kept_outputs = keep_outputs([])
    model.layer2.register_forward_hook(kept_outputs)
    del kept_outputs
    unseen = torch.nn.Linear(19, 23)  # no Python object refers to its gradients
    unseen(torch.ones(2, 19)).sum().backward()
    losses = []
    for i in range(fill(r'__main__\.losses')):
        losses.append(model(torch.ones(2, 16)).sum())
    EXPECTED[len(losses) + 10_000] = (r'__main__\.model\.layer2\._forward_hooks\[…\]\.<hook>\.<kept>', 'module')
    for i in range(10_000):
        with torch.no_grad():
            model(torch.ones(2, 16))


# Their contents are blocks of Python's allocator and of malloc.
buffers = [bytearray(b'x' * (100 if i % 2 else 1000)) for i in range(fill(r'__main__\.buffers'))]
if hasattr(builtins, 'frozendict'):  # from 3.15 on
    constants = frozendict({str(i): float(i) for i in range(fill(r'__main__\.constants'))})


def truth():
    gc.collect()
    counts, sizes = collections.Counter(), collections.Counter()
    # Objects of libraries last: pandas computes their size with lists that grow.
    for thing in sorted(gc.get_objects(), key=lambda thing: type(thing).__module__ != 'builtins'):
        kind = type(thing)
        name = kind.__qualname__ if kind.__module__ == 'builtins' else f'{kind.__module__}.{kind.__qualname__}'
        counts[name] += 1
        sizes[name] += sys.getsizeof(thing)
    told = {'counts': counts, 'sizes': sizes, 'lists_frozensets': gc.is_tracked(frozenset([1]))}  # not from 3.15 on
    if numpy:
        told['arrays'] = [len(masks), sum(mask.nbytes for mask in masks)]
    told['opaque'] = {'__main__.buffers': sum(map(sys.getsizeof, buffers))}
    if pandas:
        told['opaque']['__main__.frames'] = sum(int(frame.memory_usage(index=False).sum()) for frame in frames)
    if Image:
        told['opaque']['__main__.images'] = sum(image.width * image.height * 4 for image in images)
    if torch:
        told['tensors'] = [len(tensors), sum(tensor.numel() * tensor.element_size() for tensor in tensors)]
    return told


def ready():
    # The census counts garbage, too. Without the encoder in C, json.dumps() leaves a cycle of functions and 22 cells.
    line = json.dumps(EXPECTED)
    gc.collect()
    print(line, flush=True)


trainer.run(ready)
