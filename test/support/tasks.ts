// Workspaces with files of tasks; programs that are not installed print their arguments.

import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProcessPlan } from '../../src/core/plan.js';
import type { JsonObject } from '../../src/index.js';
import type { NodeToolbox, NodeToolboxOptions } from '../../src/node.js';
import { createWorkspace, type Workspace } from './workspace.js';

const OTHERS = ['pnpm', 'yarn', 'bun', 'just', 'task', 'mise', 'deno', 'composer', 'poe', 'pdm'];
const SHOW = '#!/bin/sh\nprintf "%s" "${0##*/}"; for one; do printf "\\n%s" "$one"; done\n';

export interface TaskWorkspace extends Workspace {
  /** Returns the command line of a call, without running it. */
  plan(tool: string, input: JsonObject): Promise<readonly string[]>;
}

/** `from` is the list of files, or the whole configuration of the project. */
export function createTasks(files: Readonly<Record<string, string>>, from: string): TaskWorkspace {
  const workspace = createWorkspace();
  for (const [name, text] of Object.entries(files)) workspace.write(name, text);
  const config = from.startsWith('["') ? `[tasks]\nfrom = ${from}\n` : from;
  if (config !== '') workspace.write('.agents/config.toml', config);
  // Otherwise npm says that there is a newer one, in the output of the tools.
  writeFileSync(join(workspace.home, '.npmrc'), 'update-notifier=false\n');
  const bin = join(workspace.home, 'bin');
  mkdirSync(bin);
  for (const name of OTHERS) {
    writeFileSync(join(bin, name), SHOW);
    chmodSync(join(bin, name), 0o755);
  }
  const env = { ...workspace.env, PATH: `${workspace.env.PATH}:${bin}` };
  const toolbox = (options: Partial<NodeToolboxOptions> = {}): NodeToolbox => workspace.toolbox({ env, ...options });
  return {
    ...workspace,
    env,
    toolbox,
    async plan(tool, input) {
      const { plan } = await toolbox().plan(tool, input);
      return (plan as ProcessPlan).argv;
    },
  };
}

export async function namesOf(workspace: Workspace): Promise<string[]> {
  return (await workspace.toolbox().list()).map(({ name }) => name);
}
