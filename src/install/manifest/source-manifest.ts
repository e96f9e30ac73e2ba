// The source manifest, `wield.toml` or `mind.toml`: its content, and its parser, which collects every problem with its line.

import type { JsonObject } from '../../core/json.js';
import type { Finding } from '../../core/problem.js';
import {
  anything,
  boolean,
  checked,
  converted,
  type Infer,
  list,
  object,
  oneOf,
  optional,
  type Path,
  readShape,
  type Shape,
  type ShapeFault,
  strings,
  text,
} from '../../core/shape.js';
import { quoteOutside } from '../../core/text.js';
import { lineOf, parseToml } from '../../files/toml.js';
import {
  findLinkFault,
  findNameFault,
  findNamespaceFault,
  type ItemKind,
  isSafePath,
  SOURCE_KINDS,
} from './item-name.js';

export interface Pin {
  /** `ref`: a tag, a branch or the beginning of a commit, whichever exists; `HEAD` is the commit that is current now. */
  readonly to: 'branch' | 'tag' | 'commit' | 'ref';
  readonly name: string;
}

/** Parses `branch=NAME`, `tag=NAME`, a full commit hash, or the name of a tag or branch. */
export function parsePin(value: string): Pin {
  const named = /^(branch|tag)=(.+)$/s.exec(value);
  if (named) return { to: named[1] as 'branch' | 'tag', name: named[2]! };
  return { to: /^[0-9a-f]{40}$/.test(value) ? 'commit' : 'ref', name: value };
}

type DeclaredHook = Infer<typeof HOOK>;

/** The fields of an item that `[[items]]` can declare. */
export interface ItemFields {
  readonly kind: ItemKind;
  readonly name: string;
  /** Relative to the source: a directory, or a file for an agent or a rule. */
  readonly path: string;
  /** Where it is linked in an agent home, if not at the default path of its kind. */
  readonly link: string | null;
  readonly description: string | null;
  readonly bin: string | null;
  readonly build: string | null;
  readonly install: string | null;
  readonly uninstall: string | null;
}

export interface DeclaredItem extends ItemFields {
  /** The line of its table in the manifest. */
  readonly line: number;
}

export interface ItemGlobs {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

/** What a source says about a nested one that has no manifest of its own. */
export interface Adoption {
  /** Directories to search instead of the root; null for the root. */
  readonly roots: readonly string[] | null;
  /** Directories to search besides everything else. */
  readonly addRoots: readonly string[];
  readonly hooks: readonly DeclaredHook[];
  /** Plugins that a marketplace lists: nothing else of the source is read. */
  readonly plugins?: readonly PluginEntry[];
}

/** A plugin as a marketplace lists it. */
export interface PluginEntry {
  readonly name: string;
  readonly description: string | null;
  /** Its directory, relative to its source; empty for the source itself. */
  readonly path: string;
  /** False: the entry describes the plugin, not a manifest of its own. */
  readonly strict: boolean;
  /** The fields of the entry that name components. */
  readonly components: JsonObject;
}

export interface NestedSource {
  readonly source: string;
  readonly namespace: string | null;
  readonly pin: Pin | null;
  /** Which of its items are installed with those of the outer source: references are bare, such as `skill:scan`. */
  readonly install: 'all' | 'none' | readonly string[];
  readonly adoption: Adoption | null;
  readonly onAuthFailure: { readonly action: 'error' | 'skip'; readonly message: string | null } | null;
}

export type SourceManifest = ReturnType<typeof parseSourceManifest>['manifest'];

const TABLE = { expected: 'a table' };
const TEXT = text();
const PATH = checked(TEXT, (path, fail) => {
  if (!isSafePath(path))
    fail([], `"${quoteOutside(path, 80)}" is outside the source`, 'use a relative path without ..');
});
const PATHS = list(PATH, 'an array of strings');
const NAME = named(findNameFault);
const NAMESPACE = named(findNamespaceFault);

function named(find: (name: string) => string | undefined): Shape<string> {
  return checked(TEXT, (name, fail) => {
    const fault = find(name);
    if (fault !== undefined) fail([], `"${quoteOutside(name, 60)}" ${fault}`, 'use letters, digits, _ and -');
  });
}

const PINS = {
  pin: optional(TEXT),
  'follow-branch': optional(TEXT),
  'pin-tag': optional(TEXT),
  'pin-ref': optional(TEXT),
};
type Pins = { readonly [Key in keyof typeof PINS]?: string };

function pinsOf({ pin, 'follow-branch': branch, 'pin-tag': tag, 'pin-ref': commit }: Pins): readonly Pin[] {
  const exact = Object.entries({ branch, tag, commit }) as [Pin['to'], string | undefined][];
  return [
    ...(pin === undefined ? [] : [parsePin(pin)]),
    ...exact.flatMap(([to, name]) => (name === undefined ? [] : [{ to, name }])),
  ];
}

/** An object with at most one pin. */
function pinned<T extends Pins>(shape: Shape<T>): Shape<T> {
  return checked(shape, (value, fail) => {
    if (pinsOf(value).length > 1) fail([], 'has more than one pin', 'keep only one of them');
  });
}

const EVENT = oneOf('install', 'uninstall');
const HOOK = converted(
  object({ run: TEXT, name: optional(TEXT), optional: optional(anything), event: optional(EVENT) }, TABLE),
  ({ run, name = null, event = 'install' }) => ({ run, event, name }),
);
const HOOKS = list(HOOK, 'an array of tables');

const ITEM = checked(
  object(
    {
      kind: oneOf(...SOURCE_KINDS),
      name: NAME,
      path: PATH,
      link: optional(PATH),
      description: optional(TEXT),
      bin: optional(PATH),
      build: optional(TEXT),
      install: optional(TEXT),
      uninstall: optional(TEXT),
      hooks: optional(HOOKS),
    },
    TABLE,
  ),
  (item, fail) => {
    const { kind, link } = item;
    for (const key of ['bin', 'build'] as const)
      if (kind !== 'tool' && item[key] !== undefined)
        fail([key], `is only allowed for tools, and the kind is ${kind}`, `remove ${key}`);
    const fault = link === undefined ? undefined : findLinkFault(kind, link);
    if (fault !== undefined) fail(['link'], `"${quoteOutside(link!, 80)}" ${fault}`, 'fix the link, or omit it');
  },
);

function toItem(item: Infer<typeof ITEM>, line: number): DeclaredItem {
  const { kind, name, path, link = null, description = null, bin = null, build = null, hooks = [] } = item;
  // `install` and `uninstall` are short for one hook; those of `[[items.hooks]]` run after it, as one command.
  const toCommand = (event: 'install' | 'uninstall'): string | null => {
    const declared = hooks.filter((hook) => hook.event === event).map(({ run }) => run);
    const commands = [...(item[event] === undefined ? [] : [item[event]]), ...declared];
    if (commands.length < 2) return commands[0] ?? null;
    return commands.map((command) => `(\n${command}\n)`).join(' &&\n');
  };
  const commands = { install: toCommand('install'), uninstall: toCommand('uninstall') };
  return { kind, name, path, link, description, bin, build, ...commands, line };
}

const GLOBS = object({ include: optional(PATHS), exclude: optional(PATHS) }, TABLE);
// Also an array of globs.
const ITEM_GLOBS: Shape<ItemGlobs> = {
  ...GLOBS,
  read(value, report) {
    const { include = [], exclude = [] } =
      (Array.isArray(value) ? { include: PATHS.read(value, report) } : GLOBS.read(value, report)) ?? {};
    return { include, exclude };
  },
};

// `flat-skills` has no effect of its own: a SKILL.md is found anywhere below the roots.
const ADOPTION = {
  roots: optional(PATHS),
  'add-roots': optional(PATHS),
  'flat-skills': optional(boolean),
  hooks: optional(HOOKS),
};
const NESTED = checked(
  pinned(
    object(
      {
        source: TEXT,
        as: optional(NAMESPACE),
        namespace: optional(NAMESPACE),
        install: optional(boolean),
        'install-items': optional(strings),
        'on-auth-failure': optional(object({ action: oneOf('skip', 'error'), message: optional(TEXT) }, TABLE)),
        ...PINS,
        ...ADOPTION,
      },
      TABLE,
    ),
  ),
  ({ install, 'install-items': items = [] }, fail) => {
    if (install === true && items.length > 0)
      fail(['install-items'], 'has no effect: install = true already installs everything', 'remove one of the two');
  },
);

/** `installs` is the default of `install`. */
function toNested(nested: Infer<typeof NESTED>, installs: boolean): NestedSource {
  const { source, as = null, namespace = as, roots = null, hooks = [], 'add-roots': addRoots = [] } = nested;
  const { 'install-items': items, 'on-auth-failure': onFailure } = nested;
  const { install = installs && items === undefined } = nested;
  const isAdopted = Object.keys(ADOPTION).some((key) => key in nested);
  return {
    source,
    namespace,
    pin: pinsOf(nested)[0] ?? null,
    install: install ? 'all' : items === undefined || items.length === 0 ? 'none' : items,
    adoption: isAdopted ? { roots, addRoots, hooks } : null,
    onAuthFailure: onFailure === undefined ? null : { message: null, ...onFailure },
  };
}

const SOURCE = pinned(
  object(
    {
      description: optional(TEXT),
      namespace: optional(NAMESPACE),
      prefix: optional(NAMESPACE),
      roots: optional(PATHS),
      'flat-skills': optional(boolean),
      ...PINS,
      'min-version': optional(TEXT),
      'min-mind-version': optional(anything),
      'min-wield-version': optional(TEXT),
      install: optional(TEXT),
      uninstall: optional(TEXT),
      expand: optional(oneOf('all', 'markdown')),
    },
    TABLE,
  ),
);
const NESTED_LIST = list(NESTED, 'an array of tables');
const MANIFEST = object(
  {
    source: optional(SOURCE),
    // Each is read with its line.
    items: optional(list(anything, 'an array of tables')),
    discover: optional(
      object(
        {
          skills: optional(ITEM_GLOBS),
          agents: optional(ITEM_GLOBS),
          rules: optional(ITEM_GLOBS),
          tools: optional(ITEM_GLOBS),
          sources: optional(NESTED_LIST),
        },
        TABLE,
      ),
    ),
    hooks: optional(HOOKS),
    sources: optional(NESTED_LIST),
  },
  TABLE,
);

/** `pointer` of a finding is the dotted key (INS-3). */
export function parseSourceManifest(text: string) {
  const findings: Finding[] = [];
  // The TOML parser is not loaded for a source without a manifest.
  const parsed = text === '' ? { document: {} } : parseToml(text);
  if ('message' in parsed) findings.push({ ...parsed, pointer: '', hint: 'fix the TOML syntax' });
  const read = <T>(shape: Shape<T>, value: unknown, path: Path): T | undefined => {
    const reading = readShape(shape, value, path);
    findings.push(...reading.faults.map((fault) => toFinding(fault, text)));
    return reading.value;
  };
  const document = read(MANIFEST, 'message' in parsed ? {} : parsed.document, []) ?? {};
  const { source = {}, items = [], discover = {}, hooks = [], sources = [] } = document;
  const manifest = {
    description: source.description ?? null,
    namespace: source.namespace ?? source.prefix ?? null,
    roots: source.roots ?? null,
    pin: pinsOf(source)[0] ?? null,
    minVersion: source['min-version'] ?? source['min-wield-version'] ?? null,
    /** Which text files tokens are expanded in. */
    expand: source.expand ?? 'all',
    items: items.flatMap((entry, at) => {
      const item = read(ITEM, entry, ['items', at]);
      return item === undefined ? [] : [toItem(item, lineOf(text, ['items', at]))];
    }),
    globs: Object.fromEntries(
      SOURCE_KINDS.flatMap((kind) => {
        const globs = discover[`${kind}s`];
        return globs === undefined ? [] : [[kind, globs]];
      }),
    ),
    sources: [
      ...sources.map((nested) => toNested(nested, true)),
      // mind only registers them, unless they say otherwise.
      ...(discover.sources ?? []).map((nested) => toNested(nested, false)),
    ],
    hooks: [
      ...(['install', 'uninstall'] as const).flatMap((event) => {
        const run = source[event];
        return run === undefined ? [] : [{ run, event, name: null }];
      }),
      ...hooks,
    ],
  };
  return { manifest, findings };
}

function toFinding({ path, kind, message, hint }: ShapeFault, text: string): Finding {
  const at = kind === 'missing' ? path.slice(0, -1) : path;
  const key = path.findLast((step) => typeof step === 'string') ?? 'the manifest';
  return {
    line: lineOf(text, at),
    pointer: at.join('.'),
    message: kind === 'invalid' ? `${key} ${message}` : message,
    hint,
  };
}
