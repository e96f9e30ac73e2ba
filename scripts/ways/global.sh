#!/bin/sh
# Installs wield for the user, with npm, and no rights of others.
set -eu
npm install --global --prefix "$HOME/.local" wield
PATH="$HOME/.local/bin:$PATH"
wield init
wield call hello --name Ada
