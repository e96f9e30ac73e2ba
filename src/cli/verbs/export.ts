// `wield list --manifest`: writes what is installed as a source manifest.

import { resolve } from 'node:path';
import { writeFileAtomic } from '../../files/write.js';
import { toExportedManifest } from '../../install/export.js';
import { loadInventory } from '../../install/inventory.js';
import { toReadOnlyEnvironment } from '../../install/toolbox-environment.js';
import { printJson } from '../print.js';
import { option, toggle, type Verb } from '../verb.js';

export const exportInstalled: Verb = {
  name: 'list --manifest',
  usage: 'list --manifest [--output FILE] [--whole-sources]',
  summary: 'Write the sources and installed items as a source manifest, with commits.',
  examples: ['wield list --manifest', 'wield list --manifest --output team/wield.toml'],
  flags: {
    output: option('FILE', 'Write to this file'),
    'whole-sources': toggle('All items of the sources, not only the installed ones'),
  },
  positionals: 0,
  async run({ terminal, flags, json, cwd, toolbox }) {
    const inventory = loadInventory(toReadOnlyEnvironment(toolbox()));
    const text = toExportedManifest(inventory, flags.has('whole-sources'));
    const output = flags.get('output')?.toString();
    const file = output === undefined ? null : resolve(cwd, output);
    if (file !== null) writeFileAtomic(file, text, { mode: 0o644 });
    if (json) printJson(terminal, { ok: true, file, manifest: text });
    else terminal.out(file === null ? text : `  written  ${file}\n`);
    return 0;
  },
};
