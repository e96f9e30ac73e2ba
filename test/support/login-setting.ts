// The entry of a server and the home of a login, for tests that log in without the command.

import { join } from 'node:path';
import type { World } from '../../src/core/snapshot.js';
import type { HttpServer } from '../../src/core/upstream.js';
import { type CreateFetch, createGuardedFetch } from '../../src/net/fetch.js';
import { createWorkspace, type Workspace } from './workspace.js';

/** The entry of a server over HTTP. */
export function toServer(url: string, more: Partial<HttpServer> = {}): HttpServer {
  return {
    kind: 'http',
    name: 'notes',
    owner: 'user',
    position: { file: '/dev/null', pointer: null, line: null },
    url,
    headers: {},
    ...more,
  };
}

/** What a login needs. */
export interface Setting {
  readonly workspace: Workspace;
  readonly directory: string;
  readonly world: World;
  readonly createFetch: CreateFetch;
  /** Debug messages. */
  readonly said: string[];
}

export function createSetting(): Setting {
  const workspace = createWorkspace();
  const said: string[] = [];
  const world: World = {
    env: workspace.env,
    home: workspace.home,
    platform: process.platform,
    now: Date.now,
    monotonic: () => performance.now(),
    debug: (message) => said.push(message),
    debugging: true,
  };
  return {
    workspace,
    directory: join(workspace.env.WIELD_HOME!, 'oauth'),
    world,
    createFetch: createGuardedFetch,
    said,
  };
}
