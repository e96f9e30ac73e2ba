// `wield secrets`: secrets in the keychain of the system, which configurations refer to as `keychain:NAME`.

import { assertPerson } from '../../core/caller.js';
import { ToolError } from '../../core/error.js';
import { formatBytes, quoteOutside } from '../../core/text.js';
import { keychainOf, SECRET_NAME } from '../../process/keychain.js';
import { MAX_SECRET_BYTES, runSecretCommand } from '../../process/secret-reference.js';
import { ASKS, confirm, mayConfirm, unconfirmed } from '../consent.js';
import { readStdin } from '../input.js';
import { printJson, report } from '../print.js';
import { readHidden } from '../terminal.js';
import { required, unknownChoice, usageError, type Verb, type VerbCall } from '../verb.js';

// It has the secrets, too.
const MAX_LISTING_BYTES = 16 * 1024 * 1024;
const ACTIONS = ['set', 'list', 'remove'];

export const secrets: Verb = {
  usage: 'secrets list | secrets set NAME [--dry-run] [--yes] | secrets remove NAME [--dry-run] [--yes]',
  summary: 'Keep secrets in the keychain of the system; configurations refer to them as keychain:NAME.',
  examples: [
    'wield secrets set github-token',
    'op read op://Private/github/token | wield secrets set github-token --yes',
    'wield secrets list',
    'wield secrets remove github-token',
  ],
  flags: ASKS,
  positionals: 2,
  completes: ACTIONS,
  async run(call) {
    const [named, secret] = call.positionals;
    const action = required(named, 'action; usage: wield secrets set|list|remove', 'wield secrets list');
    if (action === 'list') return listSecrets(call, secret);
    if (action !== 'set' && action !== 'remove') throw unknownChoice('action', action, ACTIONS, 'wield secrets');
    const name = required(secret, `name; usage: wield secrets ${action} NAME`, 'wield secrets list shows the names');
    if (!SECRET_NAME.test(name))
      throw usageError(
        `"${quoteOutside(name, 60)}" is not a name of a secret`,
        'use at most 64 letters, digits, ".", "_" and "-"',
      );
    return action === 'set' ? setSecret(call, name) : removeSecret(call, name);
  },
};

async function listSecrets(call: VerbCall, extra: string | undefined): Promise<number> {
  if (extra !== undefined) throw usageError('wield secrets list takes no name', 'wield secrets list');
  const names = await readNames(call);
  if (call.json) return printJson(call.terminal, { ok: true, secrets: names.map((name) => ({ name })) });
  if (names.length === 0) call.terminal.err('no secrets yet; to add one: wield secrets set NAME\n');
  for (const name of names) call.terminal.out(`${name}\n`);
  return 0;
}

async function setSecret(call: VerbCall, name: string): Promise<number> {
  const { terminal, flags, json, signal, dryRun } = call;
  if (dryRun) return report(call, { name, dryRun: true }, `would set  ${name}\n`);
  assertPerson(call.toolbox().machine.insideCall, 'setting a secret');
  // A value that is typed is a confirmation.
  const isTyped = !json && terminal.canAsk && !flags.has('yes');
  if (!isTyped && !mayConfirm(call)) throw unconfirmed(call, name);
  const text = isTyped
    ? await readHidden(terminal, `  ${name}: `, signal)
    : await readStdin(terminal, signal, `the secret ${name}`);
  const secret = text.replace(/\r?\n$/, '');
  const fault = findFault(secret);
  if (fault !== undefined)
    throw usageError(`the secret ${fault}`, `printf %s "$VALUE" | wield secrets set ${name} --yes`);
  const { argv, stdin } = keychainOf(contextOf(call).world.platform).write(name, secret);
  await runSecretCommand(argv, contextOf(call), { stdin });
  return report(
    call,
    { name },
    `set  ${name}\n  refer to it as keychain:${name}, or \${keychain:${name}} within a text\n`,
  );
}

// What could be stored, and not be read or used.
function findFault(secret: string): string | undefined {
  if (secret === '') return 'is empty';
  if (secret.includes('\u0000')) return 'contains a NUL character';
  // Of bytes that are not UTF-8.
  if (secret.includes('\ufffd')) return 'is not text in UTF-8';
  return Buffer.byteLength(secret) < MAX_SECRET_BYTES ? undefined : `has ${formatBytes(MAX_SECRET_BYTES)} or more`;
}

async function removeSecret(call: VerbCall, name: string): Promise<number> {
  const names = await readNames(call);
  if (!names.includes(name))
    throw new ToolError('not_found', `the keychain has no secret "${name}"`, { hint: 'wield secrets list' });
  if (call.dryRun) return report(call, { name, dryRun: true }, `would remove  ${name}\n`);
  if (!(await confirm(call, `Remove ${name} from the keychain?`, name))) return 0;
  await runSecretCommand(keychainOf(contextOf(call).world.platform).remove(name), contextOf(call));
  return report(call, { name }, `removed  ${name}\n`);
}

async function readNames(call: VerbCall): Promise<readonly string[]> {
  const context = contextOf(call);
  const keychain = keychainOf(context.world.platform);
  const { stdout, stderr } = await runSecretCommand(keychain.list, context, { maxBytes: MAX_LISTING_BYTES });
  // One of the programs prints names to standard error.
  const names = keychain.parseNames(`${stdout}\n${stderr}`);
  return [...new Set(names)].filter((name) => SECRET_NAME.test(name)).sort();
}

function contextOf(call: VerbCall) {
  const { machine, workspace } = call.toolbox();
  return { world: machine.world, workdir: workspace.workdir };
}
