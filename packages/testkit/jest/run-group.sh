#!/bin/sh
# Runs the fast or slow tests of all workspaces with turbo, and prints their summary. Usage: run-group.sh fast TASK…
group=$1
shift
# The slow tests of the workspace `tests` take longest. Those of two other workspaces run beside them.
[ "$group" = slow ] && set -- "$@" --concurrency=3
rm -f apps/*/.jest/"$group".json packages/*/.jest/"$group".json ./*/.jest/"$group".json
TEST_MACHINE=$(node packages/testkit/src/print-test-machine.ts) turbo run "$@" --continue
status=$?
node packages/testkit/jest/summary.js "$group" || exit 1
exit $status
