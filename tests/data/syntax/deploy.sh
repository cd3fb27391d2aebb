#!/bin/bash
# Builds it.
# Then stops.
build() {
  echo "# not a comment" # but this is
}
function stop_all {
  kill $#
}
