// Plans an installation: which items are meant, what they need, and how each differs from what is installed.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { nearest, quoteOutside } from '../../core/text.js';
import type { Link } from '../apply/links.js';
import { readSourceForm, type SourceForm } from '../apply/stage.js';
import type { Paths } from '../environment.js';
import type { Installed, InstalledItem } from '../manifest/installed.js';
import { effectiveName, type ItemKind, isItemKind } from '../manifest/item-name.js';
import type { LoadedSource } from '../sources/load.js';
import type { OfferedItem } from '../sources/scan.js';
import { assertSafeBin, type Rendering } from '../tokens/targets.js';

export interface Offer {
  readonly source: LoadedSource;
  readonly item: OfferedItem;
}

/** `pending`: nothing of its own changed, and what it refers to did (INS-28). */
export type ChangeKind = 'new' | 'update' | 'rename' | 'pending' | 'unchanged';

export interface PlannedItem extends Offer {
  readonly key: string;
  readonly effective: string;
  readonly store: string;
  readonly form: SourceForm;
  readonly existing: InstalledItem | undefined;
  readonly change: ChangeKind;
  readonly links: readonly Link[];
  /** The item that needs it; null where it was asked for. */
  readonly neededBy: string | null;
}

export interface PlanContext {
  readonly paths: Paths;
  readonly homes: readonly string[];
  readonly rendering: Rendering;
  readonly installed: Installed;
}

export function keyOf(source: string, kind: ItemKind, name: string): string {
  return `${source}\n${kind}\n${name}`;
}

export function allOffers(sources: readonly LoadedSource[]): Offer[] {
  return sources.flatMap((source) => source.scan.items.map((item) => ({ source, item })));
}

/** The items that people mean by names: effective or bare, with a kind before it or not. */
export function selectOffers(refs: readonly string[], offers: readonly Offer[]): Offer[] {
  return refs.map((ref) => {
    const fitting = findFitting(ref, offers, ({ item, source }) => ({
      kind: item.kind,
      bare: item.name,
      effective: effectiveName(source.prefix, item.name),
      shown: `${item.kind}:${effectiveName(source.prefix, item.name)} of ${source.record.id}`,
    }));
    return fitting;
  });
}

/** The same among what is installed. */
export function selectInstalled(refs: readonly string[], { items }: Installed): InstalledItem[] {
  return refs.map((ref) =>
    findFitting(ref, items, ({ kind, name, effective, source }) => ({
      kind,
      bare: name,
      effective,
      shown: `${kind}:${effective} of ${source}`,
    })),
  );
}

interface Named {
  readonly kind: ItemKind;
  readonly bare: string;
  readonly effective: string;
  readonly shown: string;
}

function findFitting<T>(ref: string, all: readonly T[], nameOf: (one: T) => Named): T {
  const colon = ref.indexOf(':');
  const kind = colon === -1 ? undefined : ref.slice(0, colon);
  const rest = ref.slice(colon + 1);
  const ways: ((named: Named) => boolean)[] = [
    ({ effective }) => effective === ref,
    ...(isItemKind(kind) ? [(named: Named) => named.kind === kind && named.effective === rest] : []),
    ({ bare }) => bare === ref,
    ...(isItemKind(kind) ? [(named: Named) => named.kind === kind && named.bare === rest] : []),
  ];
  for (const way of ways) {
    const fitting = all.filter((one) => way(nameOf(one)));
    if (fitting.length === 1) return fitting[0]!;
    if (fitting.length > 1) {
      const candidates = fitting.map((one) => nameOf(one).shown);
      throw new ToolError('ambiguous', `"${quoteOutside(ref, 80)}" may be ${candidates.join(', ')}`, {
        hint: 'write the kind before the name, as in skill:name, or name the source with --source',
        data: { candidates },
      });
    }
  }
  const close = nearest(
    ref,
    all.flatMap((one) => nameOf(one).effective),
  );
  throw new ToolError('not_found', `there is no item "${quoteOutside(ref, 80)}"`, {
    hint:
      close.length > 0 ? `did you mean ${close.join(', ')}?` : 'wield list --available shows what there is',
    data: { nearest: close },
  });
}

/** The items with everything that they need, dependencies first. Throws `bad_reference` or `conflict`. */
export function planItems(wanted: readonly Offer[], context: PlanContext): PlannedItem[] {
  const planned = new Map<string, PlannedItem>();
  const entered = new Map<
    string,
    { offer: Offer; form: SourceForm; neededBy: string | null; left: Offer[] }
  >();
  const existing = new Map(
    context.installed.items.map((item) => [keyOf(item.source, item.kind, item.name), item]),
  );
  const enter = (offer: Offer, neededBy: string | null): string | undefined => {
    const key = keyOf(offer.source.record.id, offer.item.kind, offer.item.name);
    if (entered.has(key)) return undefined;
    assertSafeBin(offer.item);
    const form = readSourceForm(offer.item, offer.source, context.rendering);
    entered.set(key, { offer, form, neededBy, left: neededOf(offer, form) });
    return key;
  };
  // A stack of our own: sources may chain thousands of items.
  for (const offer of wanted) {
    const first = enter(offer, null);
    const stack = first === undefined ? [] : [first];
    while (stack.length > 0) {
      const key = stack[stack.length - 1]!;
      const { offer: at, form, neededBy, left } = entered.get(key)!;
      const next = left.pop();
      if (next === undefined) {
        planned.set(key, toPlanned(key, at, form, existing.get(key), neededBy, context));
        stack.pop();
      } else {
        const inner = enter(next, at.item.name);
        if (inner !== undefined) stack.push(inner);
      }
    }
  }
  const all = [...planned.values()];
  assertDistinct(all, context.installed);
  return all;
}

function neededOf({ source, item }: Offer, { references }: SourceForm): Offer[] {
  return references.flatMap(({ kind, name }) => {
    const sibling = source.siblings.byName.get(name)?.find((one) => one.kind === kind);
    return sibling === undefined || sibling === item ? [] : [{ source, item: sibling }];
  });
}

function toPlanned(
  key: string,
  { source, item }: Offer,
  form: SourceForm,
  existing: InstalledItem | undefined,
  neededBy: string | null,
  { paths, homes }: PlanContext,
): PlannedItem {
  const effective = effectiveName(source.prefix, item.name);
  const store = join(paths.store, item.kind, effective);
  const links = homes.flatMap((home) => linkOf(home, item, effective, store));
  const change = changeOf(item, form, existing, effective, links, paths);
  return { key, source, item, form, effective, store, existing, links, change, neededBy };
}

// INS-34, INS-21
function linkOf(
  home: string,
  { kind, name, link, file }: OfferedItem,
  effective: string,
  store: string,
): Link[] {
  const usual = {
    skill: `skills/${effective}`,
    agent: `agents/${name}.md`,
    rule: `rules/${effective}.md`,
    tool: null,
  };
  const at = link ?? usual[kind];
  return at === null ? [] : [{ path: join(home, at), target: file ? join(store, `${name}.md`) : store }];
}

function changeOf(
  item: OfferedItem,
  form: SourceForm,
  existing: InstalledItem | undefined,
  effective: string,
  links: readonly Link[],
  paths: Paths,
): ChangeKind {
  if (existing === undefined) return 'new';
  if (existing.effective !== effective) return 'rename';
  const { hooks } = existing;
  const own =
    existing.sourceHash === form.hash &&
    existing.bin === item.bin &&
    hooks.build === item.build &&
    hooks.install === item.install &&
    hooks.uninstall === item.uninstall &&
    existing.build !== 'skipped' &&
    existing.links.join('\n') === links.map(({ path }) => path).join('\n') &&
    existsSync(join(paths.objects, existing.object));
  if (!own) return 'update';
  return sameReferences(existing, form) ? 'unchanged' : 'pending';
}

function sameReferences(existing: InstalledItem, { references }: SourceForm): boolean {
  const text = (list: InstalledItem['references']): string =>
    list
      .map(({ kind, name, value }) => JSON.stringify([kind, name, value]))
      .sort()
      .join('\n');
  return text(existing.references) === text(references);
}

// INS-29
function assertDistinct(planned: readonly PlannedItem[], { items }: Installed): void {
  const owners = new Map<string, string>();
  const moving = new Set(planned.map(({ key }) => key));
  for (const item of items) {
    if (!moving.has(keyOf(item.source, item.kind, item.name)))
      owners.set(`${item.kind}\n${item.effective}`, item.source);
  }
  for (const { item, effective, source } of planned) {
    const name = `${item.kind}\n${effective}`;
    const owner = owners.get(name);
    if (owner !== undefined) {
      throw new ToolError(
        'conflict',
        `the ${item.kind} ${effective} of ${source.record.id} has the name of one of ${owner}`,
        { hint: 'add one of the two sources under a name of its own: wield add … --namespace NAME' },
      );
    }
    owners.set(name, source.record.id);
  }
}
