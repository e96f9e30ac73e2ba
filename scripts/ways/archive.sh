#!/bin/sh
# Installs wield with a Node of its own. WIELD_FROM is where the files of a release are, by default its page.
set -eu
here=$(dirname "$0")
sh "$here/../../install.sh" --prefix "$HOME/.local" ${WIELD_FROM:+--from "$WIELD_FROM"}
PATH="$HOME/.local/bin:$PATH"
wield init
wield call hello --name Ada
