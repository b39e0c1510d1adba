#!/bin/sh
# Runs a command in a network of its own that has only loopback: private_net.sh COMMAND..
# Orthanc listens on every address whatever its configuration says, and ports never collide in there. Where the system
# does not allow this, the command runs on the machine's own loopback.
if [ "${1:-}" = --inside ]; then
  shift
  ip link set lo up || exit 1
elif unshare --net true 2>/dev/null; then
  exec unshare --net "$0" --inside "$@"
elif unshare --map-root-user --net true 2>/dev/null; then
  exec unshare --map-root-user --net "$0" --inside "$@"
fi
exec "$@"
