#!/bin/sh
# test.sh checks price.sh and prints a line for each case.
cd "$(dirname "$0")" || exit 1
failed=0
check() { # check N WANT
  got=$(sh price.sh "$1")
  if [ "$got" = "$2" ]; then
    echo "ok    $1 tickets: $got"
  else
    echo "FAIL  $1 tickets: got $got, want $2"
    failed=1
  fi
}
check 1 30
check 9 270
check 10 240
check 20 480
exit $failed
