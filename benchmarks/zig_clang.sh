#!/bin/sh
# The clang inside of Zig's compiler, which the package ziglang brings: ZIG is its path.
exec "$ZIG" clang "$@"
