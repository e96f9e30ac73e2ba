#!/bin/sh
# Makes wield a dependency of a project, for its scripts and as a library.
set -eu
npm init --yes >/dev/null
npm install wield
npx wield init
npx wield call hello --name Ada
node --input-type=module --eval "
  import { createNodeToolbox } from 'wield/node';
  const toolbox = createNodeToolbox({ workdir: process.cwd() });
  const { content } = await toolbox.call('hello', { name: 'Grace' });
  console.log(content[0].text.trim());
  await toolbox.close();
"
