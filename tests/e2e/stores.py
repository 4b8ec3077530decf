"""What a utfeed may have behind memory: a redis-server of the test's own."""
import socket
import subprocess
import time

from wire import TIMEOUT


class Redis:
    def __init__(self, folder, password=None):
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self.folder, self.password, self.process = folder, password, None
        self.start()

    def start(self):
        more = ["--requirepass", self.password] if self.password else []
        self.process = subprocess.Popen(["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
                                         "--dir", str(self.folder), *more], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + TIMEOUT
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                assert time.monotonic() < until, "redis-server does not start"
                time.sleep(0.01)

    def stop(self):
        self.process.kill()
        self.process.wait()
