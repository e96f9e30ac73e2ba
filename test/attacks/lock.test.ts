// Locks of a hostile checkout: `install --frozen` reads them before anything is approved.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createInstallWorkspace, DETECT, WORKED } from '../support/install.js';
import { spec } from '../support/spec.js';

spec('INS-30', 'A27 A35: a lock names only what could be added, and is refused as a whole', async () => {
  const workspace = createInstallWorkspace();
  const repository = workspace.repository('repo', { ...WORKED, 'more/x/SKILL.md': '---\nname: x\n---\n' });
  await workspace.json('add', repository, '--yes');
  const text = readFileSync(join(workspace.wieldHome, 'wield.lock'), 'utf8');
  const hostile = createInstallWorkspace();
  const marker = join(hostile.dir, 'ran');
  const run = `sh -c touch% ${marker}`;
  const outside = hostile.source('outside', DETECT);
  const plugin = { name: 'p', description: null, path: '../../../outside', strict: false, components: {} };
  const adoption = { roots: null, addRoots: [], hooks: [] };
  const cases: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    'a program': { location: `ext::${run}` },
    'a program in capitals': { location: `EXT::${run}` },
    'a transport': { location: `ext:///${run}` },
    'a descriptor': { location: 'fd::0,1/x' },
    'an option': { location: `--upload-pack=touch ${marker}` },
    'a host that is an option': { location: `ssh://-oProxyCommand=touch%20${marker}/x` },
    'a protocol without encryption': { location: 'http://127.0.0.1:9/x' },
    'a directory as a repository': { location: outside },
    'a namespace that leads out': { prefix: '../../../../up', prefixGiven: true },
    'a reserved namespace': { prefix: 'mcp', prefixGiven: true },
    'a root outside': { roots: ['../../../../sources/outside'] },
    'another root outside': { addRoots: ['/etc'] },
    'roots that are not texts': { roots: [{}] },
    'an adopted root outside': { adoption: { ...adoption, roots: ['..'] } },
    'an adopted plugin outside': { adoption: { ...adoption, plugins: [plugin] } },
    'an adopted plugin with a name of a path': { adoption: { ...adoption, plugins: [{ ...plugin, name: '../x' }] } },
    'a commit that is not a hash': { commit: '../../../x' },
    'a pin of another kind': { pin: { to: 'file', name: 'x' } },
    'a pin without a name': { pin: { to: 'tag', name: {} } },
    'an id with a line break': { id: 'repo\nskill' },
    'an id that is a path': { id: '../../repo' },
    'a parent that is not a text': { parent: {} },
  };
  for (const [name, more] of Object.entries(cases)) {
    const document = JSON.parse(text);
    Object.assign(document.sources[0], more);
    hostile.write('wield.lock', JSON.stringify(document));
    const before = hostile.snapshot();
    const { message } = await hostile.fail('install', '--yes', '--frozen');
    expect([name, hostile.snapshot(), existsSync(marker)]).toEqual([name, before, false]);
    expect([name, message]).toEqual([name, expect.stringMatching(/wield\.lock is not a valid lock: /)]);
  }
  hostile.write('wield.lock', text);
  expect((await hostile.json('install', '--yes', '--frozen')).items).toHaveLength(3);
});
