// Tests of npx itself: a slow registry, and a cache in which an installation was interrupted.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect } from 'vitest';
import { deferred } from '../../../src/core/async.js';
import { json, wield } from '../../support/cli.js';
import { listen, sendJson } from '../../support/http.js';
import { hasProgram, notInstalled } from '../../support/machine.js';
import { createRunnerWorkspace } from '../../support/package-runner.js';
import { until } from '../../support/server.js';
import { spec, specIf } from '../../support/spec.js';
import { configureServers } from '../../support/upstream-servers.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const SERVER = fileURLToPath(new URL('../../support/upstream-server.mjs', import.meta.url));
const SPEC = 'files-mcp@1.0.0';
const HASH = createHash('sha512').update(SPEC).digest('hex').slice(0, 16);

// A registry with one package, which it sends when it is told to.
async function startRegistry(workspace: Workspace): Promise<{ url: string; send(): void; isAsked(): boolean }> {
  const directory = join(workspace.home, 'package');
  mkdirSync(directory);
  const manifest = { name: 'files-mcp', version: '1.0.0', type: 'module', bin: { 'files-mcp': 'server.mjs' } };
  writeFileSync(join(directory, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(directory, 'server.mjs'), `#!/usr/bin/env node\nimport ${JSON.stringify(SERVER)};\n`);
  execFileSync('tar', ['czf', join(workspace.home, 'package.tgz'), '-C', workspace.home, 'package']);
  const tarball = readFileSync(join(workspace.home, 'package.tgz'));
  const sending = deferred<void>();
  let isAsked = false;
  const { origin: url } = await listen(async (request, response) => {
    if (request.url?.endsWith('.tgz')) {
      isAsked = true;
      await sending.promise;
      response.end(tarball);
      return;
    }
    if (request.url !== '/files-mcp') return sendJson(response, {}, 404);
    const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
    const dist = { tarball: `http://${request.headers.host}/files-mcp.tgz`, integrity };
    sendJson(response, {
      name: 'files-mcp',
      'dist-tags': { latest: '1.0.0' },
      versions: { '1.0.0': { ...manifest, dist } },
    });
  });
  return { url, send: () => sending.resolve(), isAsked: () => isAsked };
}

describe.concurrent('the cache of npx', () => {
  specIf.thorough(
    hasProgram('npx') && hasProgram('tar'),
    notInstalled('npx', 'tar'),
    'UPS-112 UPS-114',
    'is complete although the command ended during the installation, and named if it is not',
    async () => {
      const workspace = createWorkspace();
      const registry = await startRegistry(workspace);
      const env = { npm_config_registry: registry.url, npm_config_audit: 'false', npm_config_update_notifier: 'false' };
      configureServers(workspace, { files: { command: 'npx', args: ['-y', SPEC], env } });
      workspace.config('[limits]\nlisting = "500ms"\n');
      expect((await wield(workspace, ['list'])).stderr).toContain('npx installs it');
      await until(() => registry.isAsked(), 'npx asks for the package');
      registry.send();
      const cache = join(workspace.home, '.npm', '_npx', HASH);
      await until(() => existsSync(join(cache, 'node_modules', '.bin', 'files-mcp')), 'the cache is complete');
      expect(await wield(workspace, ['mcp', 'refresh', 'files'])).toMatchObject({ status: 0 });
      rmSync(join(cache, 'node_modules', '.bin'), { recursive: true });
      const failed = await wield(workspace, ['mcp', 'refresh', 'files']);
      expect(failed.status).toBe(8);
      expect(failed.stderr).toContain(`npx did not finish installing it into ${cache}`);
      expect(failed.stderr).toContain(`rm -r ${cache}; wield mcp refresh files`);
    },
  );

  for (const [what, line] of [
    ['a program that is missing', 'sh: 1: files-mcp: not found'],
    ['a shell of another kind', 'bash: line 1: files-mcp: command not found'],
    ['a package without a program', 'npm error could not determine executable to run'],
    ['a directory that cannot be replaced', 'npm error code ENOTEMPTY'],
    ['a module that is missing', "Error: Cannot find module './lib/index.js'"],
  ] as const)
    spec('UPS-114', `is named in the error of ${what}`, async () => {
      const workspace = createRunnerWorkspace({ listing: '30s' });
      writeFileSync(join(workspace.home, 'bin', 'npx'), `#!/bin/sh\ncat >&2 <<'END'\n${line}\nEND\nexit 1\n`);
      const cache = join(
        workspace.home,
        '.npm',
        '_npx',
        createHash('sha512').update('files-mcp').digest('hex').slice(0, 16),
      );
      mkdirSync(cache, { recursive: true });
      const { unanswered } = json(await wield(workspace, ['list', '--json']));
      expect(unanswered).toMatchObject([{ state: 'failed', message: expect.stringContaining(cache) }]);
      expect(unanswered[0].hint).toContain(`rm -r ${cache}`);
      rmSync(cache, { recursive: true });
      const other = await wield(workspace, ['mcp', 'refresh', 'files']);
      expect(other.stderr).not.toContain('did not finish installing');
    });
});
