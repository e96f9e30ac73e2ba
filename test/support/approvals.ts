// A workspace with a tool that must be asked for, and a look at how often it ran.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CliOptions, type CliRun, json, wield } from './cli.js';
import { createWorkspace, type Workspace } from './workspace.js';

export interface AskingWorkspace extends Workspace {
  /** The file of every record. */
  readonly approvals: string;
  /** How often `deploy` ran, and with which branch. */
  runs(): string[];
  /** `wield call deploy --branch …`. */
  deploy(branch?: string, args?: readonly string[], options?: CliOptions): Promise<CliRun>;
  /** The names of the records there are, `last` ones left out. */
  records(): string[];
}

export const DEPLOY = `#!/bin/sh
# @description Publish the site to staging.
# @param *branch string Branch to publish
printf '%s\\n' "$WIELD_PARAM_BRANCH" >> "$WIELD_WORKDIR/ran"
echo deployed
`;

/** `deploy` asks for consent; each of its runs leaves a line in the file `ran`. */
export function createAskingWorkspace(): AskingWorkspace {
  const workspace = createWorkspace();
  workspace.script('deploy', DEPLOY);
  workspace.config('[trust]\nrules = "deploy"\n');
  const approvals = join(workspace.env.WIELD_HOME!, 'approvals');
  return {
    ...workspace,
    approvals,
    runs: () => readLines(join(workspace.dir, 'ran')),
    deploy: (branch = 'main', args = [], options = {}) =>
      wield(workspace, ['call', 'deploy', '--branch', branch, ...args], options),
    records: () => readNames(approvals).filter((name) => !name.includes('.last')),
  };
}

/** The id that a refused call was given. */
export async function askFor(workspace: AskingWorkspace, branch = 'main'): Promise<string> {
  const run = await workspace.deploy(branch, ['--json']);
  const { error } = json(run);
  if (error?.code !== 'needs_approval') throw new Error(`not asked for: ${run.stdout}${run.stderr}`);
  return error.data.id;
}

function readLines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').filter(Boolean);
  } catch {
    return [];
  }
}

function readNames(directory: string): string[] {
  try {
    return readdirSync(directory).sort();
  } catch {
    return [];
  }
}
