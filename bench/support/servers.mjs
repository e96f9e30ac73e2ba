// Commands that start the measured servers: ours, the floors, and the peers that can be installed.

import { spawnSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ENVIRONMENT, QUICK } from './measure.mjs';
import { createDirectory } from './workspace.mjs';

const PROBE = fileURLToPath(new URL('./cpu-probe.cjs', import.meta.url));
const SERVERS = fileURLToPath(new URL('../servers/', import.meta.url));

/** Returns the command of a server in `servers/`; a `probed` server reports its CPU time on request. */
export function serverCommand(name, args = [], { probed = false, directory = SERVERS } = {}) {
  return [process.execPath, ...(probed ? ['--require', PROBE] : []), join(directory, name), ...args.map(String)];
}

// The SDKs are development dependencies. The others have up to 197 dependencies, so they are installed into a temporary
// folder.
const INSTALLED = [
  'fastmcp@4.20.16',
  'tmcp@1.20.0',
  '@tmcp/transport-stdio@0.5.0',
  '@tmcp/transport-http@0.9.0',
  '@tmcp/adapter-zod@0.1.7',
  'mcp-lite@0.10.0',
  'zod@4.6.7',
  '@hono/node-server@2.1.6',
  'mcporter@0.12.3',
];

// `newer`: whether it serves the newer protocol version over HTTP. mcp-lite has no stdio transport.
const PEERS = [
  { name: 'SDK v1', file: 'sdk-v1', from: 'here' },
  { name: 'SDK v2', file: 'sdk-v2', from: 'here', newer: true },
  { name: 'FastMCP', file: 'fastmcp', from: 'npm' },
  { name: 'tmcp', file: 'tmcp', from: 'npm', newer: true },
  { name: 'mcp-lite', file: 'mcp-lite', from: 'npm', stdio: false },
  { name: 'FastMCP for Python', from: 'python' },
];

/**
 * Returns the peers that can be started, each with its name, the function `command(count)`, and whether it is `newer` and
 * `probed`. A quick run has only the SDKs, unless `--peers` is given.
 */
export function peersOver(transport, { probed = false } = {}) {
  return PEERS.filter(({ stdio = true }) => stdio || transport === 'http').flatMap(
    ({ name, file, from, newer = false }) => {
      if (QUICK && from !== 'here' && !process.argv.includes('--peers')) return [];
      if (from === 'python') {
        const python = findPython();
        const command = (count) => [python, `${SERVERS}fastmcp_server.py`, transport, String(count)];
        return python === undefined ? [] : [{ name, newer, probed: false, command }];
      }
      const directory = from === 'here' ? SERVERS : installPeers();
      if (directory === undefined) return [];
      const command = (count) => serverCommand(`${file}-${transport}.mjs`, [count], { probed, directory });
      return [{ name, newer, probed, command }];
    },
  );
}

/** Returns the packages of the peers for Node, as far as they are installed. */
export function peerPackages() {
  const here = fileURLToPath(new URL('../../node_modules/', import.meta.url));
  const installed = QUICK ? undefined : installPeers();
  return [
    { name: 'SDK v1', directory: join(here, '@modelcontextprotocol/sdk') },
    { name: 'SDK v2', directory: join(here, '@modelcontextprotocol/server') },
    ...(installed === undefined
      ? []
      : ['fastmcp', 'tmcp', 'mcp-lite'].map((name) => ({ name, directory: join(installed, 'node_modules', name) }))),
  ];
}

/** Returns the command of mcporter; undefined in a quick run without `--peers`. */
export function findMcporter() {
  const directory = QUICK && !process.argv.includes('--peers') ? undefined : installPeers();
  return directory && [process.execPath, join(directory, 'node_modules/mcporter/dist/cli.js')];
}

const installPeers = once(() => {
  const directory = createDirectory();
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status, stderr, error } = spawnSync('npm', ['install', ...flags, ...INSTALLED], {
    cwd: directory,
    encoding: 'utf8',
    timeout: 180_000,
  });
  if (status !== 0) {
    console.error(
      `FastMCP, tmcp, mcp-lite and mcporter are left out, not installed: ${error?.message ?? stderr.trim()}`,
    );
    return undefined;
  }
  cpSync(SERVERS, directory, { recursive: true });
  return directory;
});

// The real program: a version manager's shim takes 100 ms.
const findPython = once(() => {
  const program = process.env.PYTHON ?? 'python3';
  const { status, stdout } = spawnSync(program, ['-c', 'import sys, fastmcp; print(sys.executable)'], {
    cwd: '/',
    env: ENVIRONMENT,
    encoding: 'utf8',
  });
  if (status === 0) return stdout.trim();
  console.error(`FastMCP for Python is left out: ${program} cannot import fastmcp (PYTHON=… chooses another program)`);
  return undefined;
});

function once(create) {
  let made;
  return () => {
    made ??= { value: create() };
    return made.value;
  };
}
