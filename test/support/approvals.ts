// A workspace with a tool that needs approval and counts its runs.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CliRun, type InProcessOptions, json, wield } from './cli.js';
import { createWorkspace, type Workspace } from './workspace.js';

export interface AskingWorkspace extends Workspace {
  /** The files of all records. */
  readonly approvals: string;
  /** How often `deploy` ran, and with which branch. */
  runs(): string[];
  /** `wield call deploy --branch …`. */
  deploy(branch?: string, args?: readonly string[], options?: InProcessOptions): Promise<CliRun>;
  /** The names of all records except `last` ones. */
  records(): string[];
}

export const DEPLOY = `#!/bin/sh
# @description Publish the site to staging.
# @param *branch string Branch to publish
printf '%s\\n' "$WIELD_PARAM_BRANCH" >> "$WIELD_WORKDIR/ran"
echo deployed
`;

/** `deploy` needs approval; each run appends a line to the file `ran`. */
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

/** Returns the approval id of a call that was not run. */
export async function askFor(workspace: AskingWorkspace, branch = 'main'): Promise<string> {
  const run = await workspace.deploy(branch, ['--json']);
  const { error } = json(run);
  if (error?.code !== 'needs_approval') throw new Error(`no approval needed: ${run.stdout}${run.stderr}`);
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
