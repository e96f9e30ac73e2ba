// Checks the sources of a lock: only what could have been added is fetched and read (A27).

import { isToolError } from '../core/error.js';
import { isRecord } from '../core/json.js';
import { quoteOutside } from '../core/text.js';
import { findNamespaceFault, findPluginNameFault, isItemKind, isSafePath } from './manifest/item-name.js';
import { parseLocation } from './sources/location.js';

type Fields = Readonly<Record<string, unknown>>;
type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isFlag: Check = (value) => typeof value === 'boolean' || value === undefined;
const isCommit: Check = (value) => isText(value) && /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(String(value));
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || value === undefined || check(value);
const listOf =
  (check: Check): Check =>
  (value) =>
    value === undefined || (Array.isArray(value) && value.every(check));
const shapeOf =
  (checks: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isRecord(value) && Object.entries(checks).every(([key, check]) => check(value[key]));

const isId: Check = (value) =>
  isText(value) && value !== '' && !/[\0-\x1f\x7f]/.test(String(value)) && !String(value).split('/').includes('..');
const isPath: Check = (value) => isText(value) && isSafePath(String(value));
const isPluginName: Check = (value) => isText(value) && findPluginNameFault(String(value)) === undefined;

const SOURCE: Readonly<Record<string, Check>> = {
  id: isId,
  kind: (value) => value === 'git' || value === 'local' || value === 'bundle',
  location: isText,
  prefix: orNull((value) => isText(value) && findNamespaceFault(String(value)) === undefined),
  prefixGiven: isFlag,
  roots: listOf(isPath),
  addRoots: listOf(isPath),
  pin: orNull(
    shapeOf({ to: (value) => ['branch', 'tag', 'commit', 'ref'].includes(String(value)), name: (v) => isText(v) }),
  ),
  pinGiven: isFlag,
  parent: orNull(isId),
  commit: orNull(isCommit),
  adoption: orNull(
    shapeOf({
      roots: orNull(listOf(isPath)),
      addRoots: listOf(isPath),
      hooks: listOf(
        shapeOf({ run: isText, name: orNull(isText), event: (value) => value === 'install' || value === 'uninstall' }),
      ),
      plugins: listOf(
        shapeOf({
          name: isPluginName,
          description: orNull(isText),
          path: isPath,
          strict: isFlag,
          components: isRecord,
        }),
      ),
    }),
  ),
  items: (value) =>
    Array.isArray(value) &&
    value.every(
      shapeOf({
        kind: isItemKind,
        name: isText,
        effective: isText,
        sourceHash: isText,
        installedHash: isText,
        plugin: orNull(isPluginName),
        commit: orNull(isCommit),
      }),
    ),
};

/** Returns what is wrong with a source of a lock. */
export function findSourceFault(value: unknown): string | undefined {
  if (!isRecord(value)) return 'a source is not an object';
  const wrong = Object.entries(SOURCE).find(([key, check]) => !check(value[key]));
  if (wrong !== undefined) return `"${wrong[0]}" of a source is not valid`;
  return value.kind === 'git' ? findLocationFault(value) : undefined;
}

// Written by `add`, so it is the whole address of a repository.
function findLocationFault({ location, commit }: Fields): string | undefined {
  const text = String(location);
  if (commit == null) return '"commit" of a source is missing';
  try {
    const parsed = parseLocation(text, '/', undefined);
    return parsed.kind === 'git' && parsed.location === text
      ? undefined
      : `${quoteOutside(text, 120)} is not a repository`;
  } catch (error) {
    if (!isToolError(error)) throw error;
    return error.message;
  }
}
