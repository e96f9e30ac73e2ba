// The catalog: every item with its marks, searched as one types.

import { useComputed, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { count } from '../../core/text.js';
import type { CatalogItem, CatalogState, Mark } from '../api.js';
import { onMove } from './keys.js';
import { Chip, Empty, type Tone } from './parts.js';
import { show, view } from './route.js';
import { type KindFilter, searchItems } from './search.js';
import { catalog, isLoaded, loadCatalog, type Viewer, viewer } from './store.js';
import { useVirtualRows } from './virtual.js';

const ROW_HEIGHT = 54;
const KINDS: Readonly<Record<KindFilter, string>> = {
  all: 'all kinds',
  tool: 'tools',
  skill: 'skills',
  prompt: 'prompts',
  resource: 'resources',
  server: 'servers',
};
const VIEWERS: Readonly<Record<Viewer, string>> = { model: 'for models', person: 'for you' };

// The others are shown with the tool.
const LISTED_MARKS: readonly Mark[] = ['destructive', 'read-only', 'sandbox'];

const STATE_TONES: Readonly<Partial<Record<CatalogState, Tone>>> = {
  denied: 'bad',
  failed: 'bad',
  changed: 'warn',
  untrusted: 'warn',
};

/** The name of an item in the address. */
function nameOf(item: CatalogItem): string {
  return item.id === `tool:${item.name}` ? item.name : item.id;
}

/** Finds the item that the address names. */
export function findItem(items: readonly CatalogItem[], name: string | undefined): CatalogItem | undefined {
  return items.find(({ id }) => id === `tool:${name}`) ?? items.find(({ id }) => id === name);
}

export function CatalogPanel() {
  const text = useSignal('');
  const kind = useSignal<KindFilter>('all');
  const found = useComputed(() => searchItems(catalog.value.items, text.value, kind.value));
  const items = found.value;
  const { scroller, rows, height, scrollTo } = useVirtualRows(items.length, ROW_HEIGHT);
  const { panel, name } = view.value;
  const current = panel === 'tools' ? findItem(items, name) : undefined;
  useEffect(() =>
    onMove('tools', (step) => {
      const index = current === undefined ? (step > 0 ? 0 : items.length - 1) : items.indexOf(current) + step;
      const next = items[Math.max(0, Math.min(items.length - 1, index))];
      if (next === undefined) return;
      show({ panel: 'tools', name: nameOf(next) });
    }),
  );
  const index = current === undefined ? -1 : items.indexOf(current);
  useEffect(() => {
    if (index >= 0) scrollTo(index);
  }, [index]);
  return (
    <nav class="catalog" aria-label="Catalog">
      <div class="search">
        <input
          type="search"
          aria-label="Search the catalog"
          aria-keyshortcuts="/"
          placeholder="Search   /"
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => {
            text.value = event.currentTarget.value;
          }}
        />
        <div class="filters">
          <Choice label="Kind" value={kind.value} texts={KINDS} onChange={(next) => (kind.value = next)} />
          <Choice
            label="As seen by"
            value={viewer.value}
            texts={VIEWERS}
            onChange={(next) => {
              viewer.value = next;
              loadCatalog();
            }}
          />
          <span class="note" role="status">
            {count(items.length, 'item')}
          </span>
        </div>
      </div>
      <div ref={scroller} class="scroller">
        {items.length === 0 && (
          <Empty>{isLoaded.value ? (text.value === '' ? 'Nothing here yet.' : 'Nothing matches.') : 'Loading …'}</Empty>
        )}
        <ul style={{ height: `${height}px` }}>
          {rows.map(({ index, start, key }) => (
            <ItemRow key={key} item={items[index]!} top={start} isCurrent={items[index] === current} />
          ))}
        </ul>
      </div>
    </nav>
  );
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly texts: Readonly<Record<T, string>>;
  readonly onChange: (value: T) => void;
}

function Choice<T extends string>({ label, value, texts, onChange }: ChoiceProps<T>) {
  return (
    <select
      aria-label={label}
      title={label}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value as T)}
    >
      {Object.entries<string>(texts).map(([entry, text]) => (
        <option key={entry} value={entry}>
          {text}
        </option>
      ))}
    </select>
  );
}

function ItemRow({ item, top, isCurrent }: { item: CatalogItem; top: number; isCurrent: boolean }) {
  return (
    <li style={{ transform: `translateY(${top}px)` }}>
      <button
        type="button"
        class={`item ${item.state}`}
        aria-current={isCurrent ? 'true' : undefined}
        title={item.why}
        onClick={() => show({ panel: 'tools', name: nameOf(item) })}
      >
        <span class="item-name">{item.name}</span>
        <ItemChips item={item} marks={item.marks.filter((mark) => LISTED_MARKS.includes(mark))} />
        <span class="item-about">{item.description}</span>
      </button>
    </li>
  );
}

export function ItemChips({ item, marks = item.marks }: { item: CatalogItem; marks?: readonly Mark[] }) {
  return (
    <span class="chips">
      {item.kind !== 'tool' && <Chip tone="info">{item.kind}</Chip>}
      {item.state !== 'listed' && <Chip tone={STATE_TONES[item.state] ?? 'plain'}>{item.state}</Chip>}
      {marks.map((mark) => (
        <Chip key={mark} tone={mark === 'destructive' ? 'bad' : mark === 'read-only' ? 'good' : 'plain'}>
          {mark}
        </Chip>
      ))}
    </span>
  );
}
