"""A process whose heap census needs more memory than the helper process may use: large_census.py FOLDER/libc.so.9

It maps eight large files that have the name of a C library, and a census copies the writable data of C libraries. The
mappings are private and never written, so they cost this process no memory. Reports RssAnon after each line that it reads.
"""
import json
import mmap
import sys

LIBRARIES, BYTES = 8, 32 << 20


def anon():
    with open('/proc/self/status') as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith('RssAnon'))


with open(sys.argv[1], 'w+b') as file:
    file.truncate(BYTES)
    # All from offset 0, because the kernel would merge mappings of adjacent parts of the file.
    held = [mmap.mmap(file.fileno(), BYTES, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
            for _ in range(LIBRARIES)]
print(json.dumps({'anon': anon()}), flush=True)
for _ in sys.stdin:
    print(json.dumps({'anon': anon()}), flush=True)
