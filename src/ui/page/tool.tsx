// One item of the catalog: what it is, its form, what a model sees of it, and why the policy decides as it does.

import { useSignal } from '@preact/signals';
import type { CatalogItem, ToolDetails } from '../api.js';
import { CallForm } from './call-form.js';
import { findItem, ItemChips } from './catalog.js';
import { request } from './client.js';
import { ExplainTab } from './explain.js';
import { Chip, Code, Facts, Fetched, PositionText, Toggle } from './parts.js';
import { formatRoute, view } from './route.js';
import { catalog, isLoaded, session } from './store.js';
import { Tabs } from './tabs.js';
import { useFetch } from './use-request.js';
import { Welcome } from './welcome.js';

export function ToolPanel() {
  const { name } = view.value;
  const item = findItem(catalog.value.items, name);
  if (name === undefined || (item === undefined && !isLoaded.value)) return <Welcome />;
  // A tool that is named in a link may be missing in this listing.
  const callee = item === undefined ? name : calleeOf(item);
  return (
    <article aria-label={name}>
      <header class="tool-head">
        <h1>{item?.name ?? name}</h1>
        {item !== undefined && <ItemChips item={item} />}
      </header>
      {item?.why !== undefined && (
        <p class={item.state === 'denied' || item.state === 'failed' ? 'box bad' : 'box warn'}>
          {item.why} {item.position !== undefined && <PositionText position={item.position} />}{' '}
          {item.state === 'changed' && <a href={formatRoute({ panel: 'changes' })}>Show the change</a>}
        </p>
      )}
      {callee === undefined ? <Item item={item!} /> : <Tool key={callee} name={callee} item={item} />}
    </article>
  );
}

/** The name by which an item is called: a tool, a prompt, or a resource that is not a template. */
function calleeOf({ id, kind, name }: CatalogItem): string | undefined {
  if (kind === 'tool') return id.startsWith('tool:') ? name : undefined;
  return kind === 'prompt' || (kind === 'resource' && !id.includes('{')) ? id : undefined;
}

function Item({ item }: { item: CatalogItem }) {
  return (
    <>
      <p class="prose">{item.description}</p>
      <ItemFacts item={item} />
      {item.kind === 'server' && <a href={formatRoute({ panel: 'servers' })}>All servers</a>}
    </>
  );
}

function ItemFacts({ item, details }: { item: CatalogItem; details?: ToolDetails }) {
  return (
    <Facts
      rows={[
        ['Format', item.format],
        ['Server', item.server],
        ['Package', item.source],
        ['File', item.position && <PositionText position={item.position} />],
        ['Tags', item.tags.join(', ')],
        ['Origin', details?.origin],
        ['Action', details?.action],
        ['Digest', details?.digest?.slice(0, 16)],
      ]}
    />
  );
}

function Tool({ name, item }: { name: string; item: CatalogItem | undefined }) {
  const fetched = useFetch(() => request('GET /api/tools/:name', { params: [name] }), [name, catalog.value]);
  const show = (details: ToolDetails) => (
    <>
      <p class="prose description">{details.description}</p>
      <Tabs
        label="Views of the tool"
        tabs={{
          call: ['Call', <CallForm key={name} details={details} />],
          // Clients show prompts and resources, not models.
          ...(item === undefined || item.kind === 'tool'
            ? { model: ['What a model sees', <SentTab key={name} name={name} />] }
            : {}),
          explain: ['Explain', <ExplainTab key={name} name={name} />],
          definition: [
            'Definition',
            <>
              <ItemFacts item={details.item} details={details} />
              <h2>Input schema</h2>
              <Code label="Input schema" value={details.input} />
              {details.output !== undefined && (
                <>
                  <h2>Output schema</h2>
                  <Code label="Output schema" value={details.output} />
                </>
              )}
            </>,
          ],
        }}
      />
    </>
  );
  return <Fetched task={fetched}>{show}</Fetched>;
}

function SentTab({ name }: { name: string }) {
  const providers = session.value?.providers ?? [];
  const provider = useSignal(providers[0] ?? '');
  const fetched = useFetch(
    () => request('GET /api/tools/:name/sent/:provider', { params: [name, provider.value] }),
    [name, provider.value],
  );
  return (
    <section aria-label="What a model sees">
      <div class="switch">
        {providers.map((entry) => (
          <Toggle key={entry} choice={provider} to={entry}>
            {entry}
          </Toggle>
        ))}
      </div>
      <Fetched task={fetched}>
        {(sent) => (
          <>
            <p>
              {sent.name === null ? <Chip tone="warn">not sent</Chip> : <code>{sent.name}</code>}{' '}
              <Chip tone="info">{`${sent.tokens} tokens`}</Chip> {sent.why}
            </p>
            <p class="prose">{sent.description}</p>
            <h2>Exact text</h2>
            <Code label="Exact text" value={sent.text} />
          </>
        )}
      </Fetched>
    </section>
  );
}
