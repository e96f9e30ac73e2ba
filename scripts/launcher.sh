#!/bin/sh
# Starts wield with the Node of its archive. Needs nothing but a shell, and readlink if it is called through a link.
self=$0
while [ -h "$self" ]; do
  target=$(readlink "$self")
  case $target in
    /*) self=$target ;;
    *) self=${self%/*}/$target ;;
  esac
done
case $self in
  */*) bin=${self%/*} ;;
  *) bin=. ;;
esac
exec "$bin/../lib/node" "$bin/../lib/node_modules/wield/dist/cli/wield.cjs" "$@"
