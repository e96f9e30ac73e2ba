#!/bin/sh
# Builds wield from a clone of WIELD_REPOSITORY and puts it on the PATH.
set -eu
git clone --quiet "${WIELD_REPOSITORY:-https://github.com/wield-dev/wield}" "$HOME/wield"
cd "$HOME/wield"
npm ci
npm run build
npm install --global --prefix "$HOME/.local" .
PATH="$HOME/.local/bin:$PATH"
mkdir "$HOME/project"
cd "$HOME/project"
wield init
wield call hello --name Ada
