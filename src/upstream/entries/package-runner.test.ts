// Tests of which command lines are those of a package runner.

import { describe, expect } from 'vitest';
import { spec } from '../../../test/support/spec.js';
import { findRunner } from './package-runner.js';

const split = (line: string): string[] =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');

describe('findRunner', () => {
  spec('UPS-112', 'recognises package runners in every form', () => {
    for (const [line, runner] of [
      ['npx -y @scope/server .', 'npx'],
      ['/usr/local/bin/npx server', 'npx'],
      ['C:\\Program\\nodejs\\npx.cmd -y server', 'npx'],
      ['node /usr/lib/node_modules/npm/bin/npx-cli.js -y server', 'npx'],
      ['npm exec --yes -- server', 'npm'],
      ['npm --prefix /x exec server', 'npm'],
      ['npm x server', 'npm'],
      ['pnpm dlx server', 'pnpm'],
      ['pnpm --silent dlx server', 'pnpm'],
      ['pnpx server', 'pnpx'],
      ['yarn dlx server', 'yarn'],
      ['bunx server', 'bunx'],
      ['bun x server', 'bun'],
      ['uvx server', 'uvx'],
      ['uvx --from git+https://example.org/server server', 'uvx'],
      ['uv tool run server', 'uv'],
      ['uv --directory /srv/x run server.py', 'uv'],
      ['pipx run server', 'pipx'],
      ['docker run -i --rm mcp/files', 'docker'],
      ['docker --context far run -i mcp/files', 'docker'],
      ['docker compose run files', 'docker'],
      ['podman run -i mcp/files', 'podman'],
      ['go run example.org/server@latest', 'go'],
      ['deno run -A npm:server', 'deno'],
      ['env TOKEN=x npx -y server', 'npx'],
      ['env -u HOME nice -n 5 uvx server', 'uvx'],
      ['timeout 60 npx server', 'npx'],
      ['cmd /c npx -y server', 'npx'],
      ['cmd.exe /C "npx -y server"', 'npx'],
      ['sh -c "npx -y server ."', 'npx'],
      ['bash -lc "cd /srv && TOKEN=x exec npx -y server"', 'npx'],
      ['bash -c "echo starting >&2; docker run -i mcp/files"', 'docker'],
    ] as const)
      expect([line, findRunner(split(line))]).toEqual([line, runner]);
  });

  spec('UPS-112', 'takes nothing else for one', () => {
    for (const line of [
      'node server.js',
      'node npx.js',
      'npm run exec',
      'npm start',
      'docker exec -i files server',
      'go-server run',
      'uv pip list',
      'python -m server npx',
      'sh -c "node server.js npx"',
      'sh run.sh',
      'sh',
      'env',
      'mynpx server',
      'deno',
      '',
    ])
      expect([line, findRunner(split(line))]).toEqual([line, undefined]);
  });
});
