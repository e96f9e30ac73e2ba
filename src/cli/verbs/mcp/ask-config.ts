// Collects the values that an installed server needs (`user_config`): from flags, or at the terminal.

import { isToolError, ToolError } from '../../../core/error.js';
import { count, quoteOutside, spellOut } from '../../../core/text.js';
import type { InstallPaths } from '../../../install/environment.js';
import {
  type ConfigOption,
  type ConfigValues,
  checkValue,
  isReference,
  missingOf,
} from '../../../install/manifest/server-config.js';
import { type InstalledServer, secretPath } from '../../../install/servers.js';
import { readHidden, readLine } from '../../terminal.js';
import { usageError, type VerbCall } from '../../verb.js';

export interface AskedConfig {
  readonly config: ConfigValues;
  /** Values that are kept in private files, which the configuration refers to. */
  readonly secrets: readonly { readonly path: string; readonly value: string }[];
}

/** Throws `usage` for a value that does not fit, and for one that is missing where nobody can be asked (INS-69). */
export async function askConfig(
  call: VerbCall,
  server: string,
  { template, config: known = {} }: InstalledServer,
  paths: InstallPaths,
): Promise<AskedConfig> {
  const given = readPairs(call.repeated('set'));
  const options = template?.options ?? {};
  const odd = Object.keys(given).find((key) => !Object.hasOwn(options, key));
  if (odd !== undefined)
    throw usageError(`${spellOut(server)} has no option "${quoteOutside(odd, 60)}"`, optionsHint(Object.keys(options)));
  const config: Record<string, readonly string[]> = { ...known };
  const secrets: { path: string; value: string }[] = [];
  const set = (key: string, texts: readonly string[]): void => {
    const option = options[key]!;
    if (texts.length > 1 && !option.multiple) throw usageError(`${key} takes one value`, `pass --set ${key}= once`);
    config[key] = texts.map((text, at) => {
      if (option.sensitive && isReference(text)) return text.startsWith('file:') ? `\${${text}}` : text;
      const checked = checkValue(key, option, text, { cwd: call.cwd, home: call.toolbox().machine.world.home });
      if (!option.sensitive) return checked;
      const path = secretPath(server, key, at, paths);
      secrets.push({ path, value: text });
      return `\${file:${path}}`;
    });
  };
  for (const [key, texts] of Object.entries(given)) set(key, texts);
  if (call.terminal.canAsk && !call.json)
    for (const [key, option] of Object.entries(options))
      if (!Object.hasOwn(config, key) && option.default === null) await ask(call, key, option, set);
  const missing = template === undefined ? [] : missingOf(template, config);
  if (missing.length > 0)
    throw new ToolError('usage', `${spellOut(server)} needs ${count(missing.length, 'value')}: ${missing.join(', ')}`, {
      hint: `pass ${missing.map((key) => `--set ${key}=VALUE`).join(' ')}; a secret may be \${VAR} or file:~/path`,
      data: { missing },
    });
  return { config, secrets };
}

function optionsHint(keys: readonly string[]): string {
  return keys.length === 0 ? 'it needs no configuration' : `its options: ${keys.join(', ')}`;
}

function readPairs(pairs: readonly string[]): Record<string, readonly string[]> {
  const given: Record<string, string[]> = Object.create(null);
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    // Not repeated in the message: it may be a secret.
    if (at < 1) throw usageError('--set must be KEY=VALUE', 'write --set KEY=VALUE');
    given[pair.slice(0, at)] = [...(given[pair.slice(0, at)] ?? []), pair.slice(at + 1)];
  }
  return given;
}

// Asks until the answer fits; an empty one skips an option that is not required.
async function ask(
  { terminal, signal }: VerbCall,
  key: string,
  option: ConfigOption,
  set: (key: string, texts: readonly string[]) => void,
): Promise<void> {
  const { title, description, required, multiple, sensitive } = option;
  terminal.err(`  ${spellOut(title)}${description === '' ? '' : `: ${spellOut(description)}`}\n`);
  for (;;) {
    const notes = [...(required ? [] : ['optional']), ...(multiple ? ['separate several with commas'] : [])];
    const prompt = `  ${spellOut(key)}${notes.length === 0 ? '' : ` (${notes.join(', ')})`}: `;
    if (!sensitive) terminal.err(prompt);
    const line = await (sensitive ? readHidden(terminal, prompt, signal) : readLine(terminal, signal, 64 * 1024));
    const text = line.replace(/\r?\n[\s\S]*$/, '').trim();
    if (text === '' && (!required || !line.includes('\n'))) return;
    try {
      set(key, multiple ? text.split(',').map((one) => one.trim()) : [text]);
      return;
    } catch (error) {
      if (!isToolError(error)) throw error;
      terminal.err(`  ${terminal.paint('yellow', 'no:', 'err')} ${error.message}\n`);
    }
  }
}
