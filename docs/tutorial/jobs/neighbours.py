"""A trainer that does not grow, and an uploader that does. The kernel kills the larger of the two."""
import os
import time

if os.fork() == 0:
    with open('/proc/self/comm', 'w') as name:
        name.write('uploader')
    queue = []
    while True:
        queue.append(bytearray(b'q') * (1 << 20))
        time.sleep(0.05)
model = bytearray(b'w') * (64 << 20)
time.sleep(10)
