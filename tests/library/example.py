"""Writes the feed on standard input as UTF-8, and on standard error its encoding. The body is read at once."""
import ctypes
import sys

lib = ctypes.CDLL("libutfeed.so.0")
lib.utfeed_normalise.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)]
lib.utfeed_output.argtypes, lib.utfeed_output.restype = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t)], ctypes.c_void_p
lib.utfeed_rule.argtypes, lib.utfeed_rule.restype = [ctypes.c_void_p], ctypes.c_char_p
lib.utfeed_free.argtypes, lib.utfeed_result_text.restype = [ctypes.c_void_p], ctypes.c_char_p

body, stream, size = sys.stdin.buffer.read(), ctypes.c_void_p(), ctypes.c_size_t()
content_type = sys.argv[1].encode() if len(sys.argv) > 1 else None
result = lib.utfeed_normalise(body, len(body), content_type, ctypes.byref(stream))
if result:
    sys.exit(lib.utfeed_result_text(result).decode())
output = lib.utfeed_output(stream, ctypes.byref(size))
sys.stdout.buffer.write(ctypes.string_at(output, size.value))
print(lib.utfeed_rule(stream).decode(), file=sys.stderr)
lib.utfeed_free(stream)
