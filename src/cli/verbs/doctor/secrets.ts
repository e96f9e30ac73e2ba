// What `wield doctor` says about secrets of commands and the keychain: where they are, and never their values (SEC-6).

import { quoteOutside } from '../../../core/text.js';
import type { NodeToolbox } from '../../../node.js';
import { findProgram, pathOutside } from '../../../process/environment.js';
import { keychainOf } from '../../../process/keychain.js';
import type { SecretReference } from '../../../process/secret-reference.js';
import type { HealthCheck } from '../../../ui/api.js';
import { mapTexts } from '../../../upstream/entries/fields.js';
import { findSecretReferences, parseServerValue } from '../../../upstream/entries/value.js';

interface Use {
  /** What it is the value of. */
  readonly name: string;
  readonly reference: SecretReference;
}

/** Returns a check per secret. */
export function checkSecrets({ machine: { world }, workspace, state }: NodeToolbox): HealthCheck[] {
  const path = pathOutside(workspace.workdir, world);
  return findUses(state).map(({ name, reference }) => {
    const [program = ''] =
      reference.kind === 'command' ? reference.argv : keychainOf(world.platform).read(reference.name);
    const where = reference.kind === 'command' ? reference.argv.join(' ') : reference.written;
    const message = `${quoteOutside(name, 80)} from ${quoteOutside(where, 120)}`;
    if (findProgram(program, path) !== undefined) return { level: 'ok', about: 'secret', message };
    const hint = reference.kind === 'command' ? 'install it, or change the command' : 'install libsecret-tools';
    return { level: 'warning', about: 'secret', message: `${message}: ${quoteOutside(program, 60)} not found`, hint };
  });
}

function findUses({ configuration, snapshot }: NodeToolbox['state']): Use[] {
  const { env, tools, net } = configuration().settings;
  const uses: Use[] = [];
  const add = (name: string, text: string, field: string): string => {
    uses.push(...findSecretReferences(parseServerValue(text, field)).map((reference) => ({ name, reference })));
    return text;
  };
  if (net.proxyAuth !== undefined) add('net.proxy-auth', net.proxyAuth, 'env');
  for (const [name, text] of Object.entries(env.from)) add(name, text, 'env');
  for (const [tool, { from = {} }] of tools)
    for (const [name, text] of Object.entries(from)) add(`${name} of ${tool}`, text, 'env');
  for (const server of snapshot().servers.servers)
    mapTexts(server, (text, { field, name = field }) => add(`${name} of the server ${server.name}`, text, field));
  return uses;
}
