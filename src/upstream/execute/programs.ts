// Identifies the program of a server; imported if a call needs approval.

import { delimiter, resolve } from 'node:path';
import type { PlanSnapshot } from '../../core/executor.js';
import type { SandboxPlan } from '../../core/sandbox.js';
import type { StdioServer } from '../../core/upstream.js';
import { baseEnvironment, findProgram } from '../../process/environment.js';
import { identifyPrograms } from '../../process/programs.js';
import type { SandboxPlaces } from '../../process/sandbox/index.js';
import { expandServer } from '../entries/expand.js';

/** Returns the lines of a server (POL-25). */
export function identifyServer(
  entry: StdioServer,
  sandbox: SandboxPlan | undefined,
  { workdir }: PlanSnapshot,
  { world, wieldHome }: SandboxPlaces,
): string[] {
  const { server } = expandServer(entry, { ...world, workdir, trusted: true });
  const { command, env, cwd = workdir } = server as StdioServer;
  const path = ({ ...baseEnvironment(world, []), ...env }.PATH ?? '').split(delimiter);
  const file = findProgram(command.includes('/') ? resolve(cwd, command) : command, path);
  const [launcher] = sandbox?.launcher ?? [];
  const started = launcher === undefined ? [] : [{ name: launcher, file: launcher }];
  return identifyPrograms([...started, { name: command, file }], { path, world, wieldHome });
}
