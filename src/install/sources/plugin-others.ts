// Counts the parts of a plugin that are not items: hooks, language servers and output styles.

import { join, normalize } from 'node:path';
import { isToolError } from '../../core/error.js';
import { isRecord, type Json, type JsonObject } from '../../core/json.js';
import { isOccupied } from '../directory.js';
import { isSafePath } from '../manifest/item-name.js';
import { readJsonObject } from '../manifest/plugin-json.js';

/** Counts something that cannot be installed; `what` is its kind, such as `hook`. */
export type Skip = (what: string, name: string, reason: string) => void;

/** The plugin that is read. */
export interface PluginContext {
  readonly tree: string;
  readonly plugin: string;
  /** Its directory, relative to the source. */
  readonly root: string;
  /** Directories with a SKILL.md, in no usual place. */
  readonly others: readonly string[];
  readonly skip: Skip;
}

/** The components that a plugin declares. */
export interface Declared {
  /** Whether only the listed components belong to the plugin. */
  readonly only: boolean;
  readonly fields: (key: string) => readonly Json[];
}

const NO_HOOKS = 'wield does not run hooks of an agent';

/** Counts what plugins have besides items: it is named, and never installed (INS-61). */
export function countOthers({ only, fields }: Declared, { tree, root, plugin, skip }: PluginContext): void {
  const usual = (path: string): Json[] => (!only && isOccupied(join(tree, root, path)) ? [path] : []);
  const tables = (written: readonly Json[]): JsonObject[] =>
    written.flatMap((value) => {
      if (isRecord(value)) return [value as JsonObject];
      const path = typeof value === 'string' ? normalize(value) : '..';
      try {
        const table = isSafePath(path) ? readJsonObject(tree, join(root, path)) : undefined;
        return table === undefined ? [] : [table];
      } catch (error) {
        if (!isToolError(error)) throw error;
        return [{ [path]: {} }];
      }
    });
  for (const table of tables([...usual('hooks/hooks.json'), ...fields('hooks')]))
    for (const text of hookTexts(table)) skip('hook', `${plugin}: ${text}`, NO_HOOKS);
  for (const table of tables([...usual('.lsp.json'), ...fields('lspServers')]))
    for (const name of Object.keys(table))
      skip('LSP server', `${plugin}:${name}`, 'wield does not start language servers');
  for (const path of [...usual('output-styles'), ...fields('outputStyles')])
    skip('output style', `${plugin}: ${String(path)}`, 'wield has no output styles');
}

// One line per command: the event and what would run.
function hookTexts(table: JsonObject): string[] {
  const events = isRecord(table.hooks) ? table.hooks : table;
  return Object.entries(events).flatMap(([event, matchers]) =>
    (Array.isArray(matchers) ? matchers : [matchers]).flatMap((matcher) => {
      const hooks = isRecord(matcher) && Array.isArray(matcher.hooks) ? matcher.hooks : [matcher];
      return hooks.map((hook) => {
        const run = isRecord(hook) ? (hook.command ?? hook.prompt ?? hook.url ?? hook.type) : undefined;
        return `${event}${run === undefined ? '' : `: ${String(run)}`}`;
      });
    }),
  );
}
