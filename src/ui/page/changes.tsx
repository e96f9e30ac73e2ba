// Tools of servers and packages that differ from what was approved, and accepting them.

import type { ChangedItem } from '../api.js';
import { request } from './client.js';
import { Button, Diff, Empty, ErrorBox } from './parts.js';
import { changes, loadCatalog, loadChanges } from './store.js';
import { useTask } from './use-request.js';

export function ChangesPanel() {
  return (
    <section aria-label="Changes">
      <h1>Changes</h1>
      {changes.value.length === 0 && <Empty>No tool of a server or package has changed.</Empty>}
      {changes.value.map((item) => (
        <Change key={`${item.tool} ${item.digest}`} item={item} />
      ))}
    </section>
  );
}

function Change({ item: { tool, from, diff, digest } }: { item: ChangedItem }) {
  const task = useTask<void>();
  const accept = (): Promise<void> =>
    task.run(async () => {
      await request('POST /api/changes', { body: { tool, digest } });
      await Promise.all([loadChanges(), loadCatalog()]);
    });
  return (
    <article class="card" aria-label={`Change of ${tool}`}>
      <header class="card-head">
        <strong>{tool}</strong> <span class="note">of {from}</span>
      </header>
      <Diff lines={diff} />
      <div class="actions">
        <Button class="primary" task={task} onClick={accept}>
          Accept this definition
        </Button>
      </div>
      <ErrorBox error={task.error.value} />
    </article>
  );
}
