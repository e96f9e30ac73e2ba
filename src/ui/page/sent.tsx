// What a model sees of a tool: the exact text for each provider, and its tokens.

import { useSignal } from '@preact/signals';
import { request } from './client.js';
import { Chip, Code, Empty, ErrorBox } from './parts.js';
import { session } from './store.js';
import { useFetch } from './use-request.js';

export function SentTab({ name }: { name: string }) {
  const providers = session.value?.providers ?? [];
  const provider = useSignal(providers[0] ?? '');
  const { value, error } = useFetch(
    () => request('GET /api/tools/:name/sent/:provider', { params: [name, provider.value] }),
    [name, provider.value],
  );
  const sent = value.value;
  return (
    <section aria-label="What a model sees">
      <div class="switch">
        {providers.map((entry) => (
          <button
            key={entry}
            type="button"
            aria-pressed={entry === provider.value}
            onClick={() => {
              provider.value = entry;
            }}
          >
            {entry}
          </button>
        ))}
      </div>
      <ErrorBox error={error.value} />
      {sent === undefined && error.value === undefined && <Empty>Loading …</Empty>}
      {sent !== undefined && (
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
    </section>
  );
}
