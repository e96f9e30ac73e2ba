#!/bin/sh
# Runs wield without installing it: npm keeps it in its cache.
set -eu
npx --yes wield init
npx --yes wield call hello --name Ada
