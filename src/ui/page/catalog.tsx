// The catalog: every item with its marks, searched as one types.

import { useComputed, useSignal } from '@preact/signals';
import { count } from '../../core/text.js';
import type { CatalogItem, CatalogState, Mark } from '../api.js';
import { Chip, Choice, Empty, Switch, TextInput, type Tone } from './parts.js';
import { show, view } from './route.js';
import { type KindFilter, searchItems } from './search.js';
import { catalog, isLoaded, loadCatalog, type Viewer, viewer } from './store.js';
import { type Row, VirtualList } from './virtual-list.js';

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
  starting: 'warn',
  untrusted: 'warn',
};

/** Whether it is built in and not a tool that the caller is shown. */
export function isUnused({ marks, kind, state }: CatalogItem): boolean {
  return marks.includes('built-in') && (kind !== 'tool' || state === 'unlisted');
}

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
  const withBuiltIn = useSignal(false);
  const found = useComputed(() => searchItems(catalog.value.items, text.value, kind.value));
  const own = found.value.filter((item) => !isUnused(item));
  const items = withBuiltIn.value ? found.value : own;
  const { panel, name } = view.value;
  return (
    <nav class="catalog" aria-label="Catalog">
      <div class="search">
        <TextInput
          type="search"
          label="Search the catalog"
          aria-keyshortcuts="/"
          placeholder="Search   /"
          autocomplete="off"
          spellcheck={false}
          text={text}
        />
        <div class="filters">
          <Choice label="Kind" choice={kind} texts={KINDS} />
          <Choice label="As seen by" choice={viewer} texts={VIEWERS} onChange={loadCatalog} />
          <span class="note" role="status">
            {count(items.length, 'item')}
          </span>
        </div>
        <Switch label={`${found.value.length - own.length} built-in`} isOn={withBuiltIn} />
      </div>
      <VirtualList
        panel="tools"
        items={items}
        keyOf={({ id }) => id}
        current={panel === 'tools' ? findItem(items, name) : undefined}
        onShow={(item) => show({ panel: 'tools', name: nameOf(item) })}
        rowHeight={ROW_HEIGHT}
        render={toRow}
      >
        <Empty>{isLoaded.value ? (text.value === '' ? 'Nothing here yet.' : 'Nothing matches.') : 'Loading …'}</Empty>
      </VirtualList>
    </nav>
  );
}

function toRow(item: CatalogItem): Row {
  return {
    class: item.state,
    title: item.why,
    children: (
      <>
        <span class="item-name">{item.name}</span>
        <ItemChips item={item} marks={item.marks.filter((mark) => LISTED_MARKS.includes(mark))} />
        <span class="item-about">{item.description}</span>
      </>
    ),
  };
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
