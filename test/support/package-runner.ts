// A server behind a package runner whose installation ends when the test wants it.

import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onEnd } from './share.js';
import { configureServers } from './upstream-servers.js';
import { createWorkspace, type Workspace } from './workspace.js';

const SERVER = fileURLToPath(new URL('upstream-server.mjs', import.meta.url));

export interface RunnerWorkspace extends Workspace {
  /** Process ids of the runs of the runner, in order. */
  runs(): number[];
  /** Process ids of the starts of the server. */
  starts(): number[];
  /** Lets the installation end. */
  install(): void;
  /** The next start installs again. */
  uninstall(): void;
  /** Whether an installation was ended before it was complete. */
  isBroken(): boolean;
}

export interface RunnerOptions {
  readonly runner?: string;
  readonly listing?: string;
  readonly mode?: string;
  readonly more?: Readonly<Record<string, unknown>>;
}

/** Creates a workspace whose user has the server `files`, run by a program named like a package runner. */
export function createRunnerWorkspace({
  runner = 'npx',
  listing = '500ms',
  mode = 'well',
  more = {},
}: RunnerOptions = {}): RunnerWorkspace {
  const workspace = createWorkspace();
  const path = (name: string): string => join(workspace.home, name);
  const bin = path('bin');
  mkdirSync(bin);
  // Like npm: what is not complete is not repaired, and a closed stderr ends it.
  const script = `#!/bin/sh
echo $$ >> ${path('runs')}
if [ ! -e ${path('complete')} ]; then
  : > ${path('half')}
  until [ -e ${path('installed')} ]; do echo installing >&2 || exit 1; sleep 0.05; done
  : > ${path('complete')}
fi
exec ${process.execPath} '${SERVER}' ${mode} ${path('starts')}
`;
  writeFileSync(join(bin, runner), script);
  chmodSync(join(bin, runner), 0o755);
  configureServers(workspace, { files: { command: runner, args: ['-y', 'files-mcp'], ...more } });
  workspace.config(`[limits]\nlisting = "${listing}"\n`);
  const numbers = (name: string): number[] =>
    existsSync(path(name)) ? readFileSync(path(name), 'utf8').trim().split('\n').map(Number) : [];
  const kill = (): void => {
    for (const pid of [...numbers('runs'), ...numbers('starts')]) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended.
      }
    }
  };
  onEnd(kill);
  return {
    ...workspace,
    env: { ...workspace.env, PATH: `${bin}:${workspace.env.PATH}` },
    runs: () => numbers('runs'),
    starts: () => numbers('starts'),
    install: () => writeFileSync(path('installed'), ''),
    uninstall: () => {
      for (const name of ['complete', 'installed']) rmSync(path(name), { force: true });
    },
    isBroken: () => existsSync(path('half')) && !existsSync(path('complete')),
  };
}
