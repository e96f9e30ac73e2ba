// Tests that search covers local tools, installed tools, tools of servers and available items.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { createInstallWorkspace } from '../../support/install.js';
import { spec } from '../../support/spec.js';

const SERVER = fileURLToPath(new URL('../../support/upstream-server.mjs', import.meta.url));

spec('CLI-17', 'search finds scripts, installed tools, tools of servers and items of sources', async () => {
  const workspace = createInstallWorkspace();
  workspace.script('parrot', '#!/bin/sh\n# @description Say a word again and again.\necho hi\n');
  mkdirSync(join(workspace.home, '.agents'), { recursive: true });
  writeFileSync(
    join(workspace.home, '.agents', 'mcp.json'),
    JSON.stringify({ mcpServers: { talk: { command: process.execPath, args: [SERVER] } } }),
  );
  const source = workspace.source('words', {
    'tools/repeat/repeat!': '#!/bin/sh\n# @description Say it again, louder.\necho hi\n',
    'tools/whisper/TOOL.md': '---\ndescription: Say it again, but quietly.\nbin: whisper\n---\n',
    'tools/whisper/whisper!': '#!/bin/sh\necho hi\n',
  });
  await workspace.json('add', source);
  await workspace.json('install', 'repeat', '--yes');
  const { results, offers } = await workspace.json('search', 'say', 'it', 'again');
  const found = results.map(({ name, format }: { name: string; format: string }) => `${name} ${format}`);
  expect(found).toEqual(expect.arrayContaining(['parrot script', 'repeat package', 'talk_echo upstream']));
  expect(offers.map(({ effective }: { effective: string }) => effective)).toContain('whisper');
  const exact = await workspace.json('search', 'talk_slow');
  expect(exact.results[0].name).toBe('talk_slow');
  const printed = await workspace.run('search', 'say', 'it', 'again');
  for (const name of ['parrot', 'repeat', 'talk_echo', 'whisper']) expect(printed.stdout).toContain(name);
});
