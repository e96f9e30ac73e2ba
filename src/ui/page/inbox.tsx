// The inbox: calls that wait for a person, with everything the approval is bound to.

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ApprovalItem } from '../api.js';
import { ApprovalCard } from './approval.js';
import { request } from './client.js';
import { onMove } from './keys.js';
import { askPermission, permission } from './notify.js';
import { Empty, ErrorBox, TextInput } from './parts.js';
import { approvals, hasApprovals, loadApprovals, pending } from './store.js';
import { useTask } from './use-request.js';

/** What identifies the shown plan: another plan under the same id is not selected. */
const keyOf = ({ id, digest }: ApprovalItem): string => `${id} ${digest}`;

export function InboxPanel() {
  return hasApprovals.value ? <Inbox /> : <Empty>Loading …</Empty>;
}

function Inbox() {
  const waiting = pending.value;
  const others = approvals.value.filter(({ state }) => state !== 'pending');
  const selected = useSignal<string | undefined>(waiting[0] && keyOf(waiting[0]));
  const checked = useSignal<readonly string[]>([]);
  // Nothing is selected after a decision, so that no key decides on a call that was not looked at.
  useEffect(() =>
    onMove('inbox', (step) => {
      const index = waiting.findIndex((item) => keyOf(item) === selected.value);
      const next = waiting[index < 0 ? 0 : Math.max(0, Math.min(waiting.length - 1, index + step))];
      selected.value = next && keyOf(next);
    }),
  );
  return (
    <section aria-label="Inbox">
      <header class="tool-head">
        <h1>Inbox</h1>
        {permission.value === 'default' && (
          <button type="button" class="quiet" onClick={askPermission}>
            Notify me
          </button>
        )}
      </header>
      {checked.value.length > 0 && (
        <BatchDenial items={waiting.filter((item) => checked.value.includes(keyOf(item)))} />
      )}
      {waiting.length === 0 && <Empty>No call waits for approval.</Empty>}
      {waiting.map((item) => (
        <ApprovalCard
          key={keyOf(item)}
          item={item}
          isSelected={keyOf(item) === selected.value}
          onSelect={() => {
            selected.value = keyOf(item);
          }}
          isChecked={checked.value.includes(keyOf(item))}
          onCheck={(isChecked) => {
            const rest = checked.value.filter((key) => key !== keyOf(item));
            checked.value = isChecked ? [...rest, keyOf(item)] : rest;
          }}
        />
      ))}
      {others.length > 0 && <h2>Decided</h2>}
      {others.map((item) => (
        <ApprovalCard key={keyOf(item)} item={item} isSelected={false} />
      ))}
    </section>
  );
}

function BatchDenial({ items }: { items: readonly ApprovalItem[] }) {
  const reason = useSignal('');
  const { error, isBusy, run } = useTask<void>();
  const deny = (): Promise<void> =>
    run(async () => {
      const denied = items.map(({ id, digest }) => ({ id, digest }));
      const body = reason.value === '' ? { deny: denied } : { deny: denied, reason: reason.value };
      await request('POST /api/approvals', { body });
      await loadApprovals();
    });
  if (items.length === 0) return null;
  return (
    <div class="box warn actions">
      <TextInput label="Reason for all" placeholder="Reason (optional)" text={reason} />
      <button type="button" class="danger" disabled={isBusy.value} onClick={deny}>
        {`Deny ${items.length} selected`}
      </button>
      <ErrorBox error={error.value} />
    </div>
  );
}
