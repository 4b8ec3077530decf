"""A process that opens an LMDB folder and holds the writer's lock: prints "held", lets go at the end of its input. usage: FOLDER"""
import ctypes
import sys

lmdb = ctypes.CDLL("liblmdb.so.0")
env, txn = ctypes.c_void_p(), ctypes.c_void_p()
assert not lmdb.mdb_env_create(ctypes.byref(env))
assert not lmdb.mdb_env_set_mapsize(env, ctypes.c_size_t(64 << 20))
assert not lmdb.mdb_env_open(env, sys.argv[1].encode(), ctypes.c_uint(0x200000), 0o600)       # MDB_NOTLS
assert not lmdb.mdb_txn_begin(env, None, 0, ctypes.byref(txn))
print("held", flush=True)
sys.stdin.read()
lmdb.mdb_txn_abort(txn)
lmdb.mdb_env_close(env)
