// The inbox: calls that wait for a person, with the plan that each is bound to and the answers.

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { formatDuration } from '../../core/text.js';
import type { ApprovalItem } from '../api.js';
import type { RequestOf } from '../requests.js';
import { request } from './client.js';
import { now } from './clock.js';
import { onMove } from './keys.js';
import { askPermission, permission } from './notify.js';
import { Chip, Code, Diff, Empty, ErrorBox, Facts, TextInput } from './parts.js';
import { approvals, hasApprovals, loadApprovals, pending, session } from './store.js';
import { useFetch, useTask } from './use-request.js';

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
      <ReadBySessions />
    </section>
  );
}

// Why a rule asks in one session and not in another.
function ReadBySessions() {
  const { value, error } = useFetch(() => request('GET /api/labels'), [approvals.value]);
  const sessions = value.value?.sessions ?? [];
  return (
    <>
      <ErrorBox error={error.value} />
      {sessions.length > 0 && <h2>Read by sessions</h2>}
      <Facts rows={sessions.map(({ id, of, labels }) => [`${of} ${id}`, labels.join('; ')])} />
      {sessions.length > 0 && <p class="note">wield approvals clear ID forgets what a session has read.</p>}
    </>
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

interface CardProps {
  readonly item: ApprovalItem;
  readonly isSelected: boolean;
  readonly onSelect?: () => void;
  readonly isChecked?: boolean;
  readonly onCheck?: (isChecked: boolean) => void;
}

function ApprovalCard({ item, isSelected, onSelect, isChecked = false, onCheck }: CardProps) {
  const { tool, caller, rows, input, changes, state, note } = item;
  const isOpen = state !== 'pending' || isSelected;
  const directory = rows.find(([label]) => label === 'in')?.[1];
  return (
    <article class={isSelected ? 'card selected' : 'card'} aria-label={`${tool} for ${caller.name}`}>
      <header class="card-head">
        {onCheck !== undefined && (
          <input
            type="checkbox"
            aria-label={`Select ${tool}`}
            checked={isChecked}
            onChange={(event) => onCheck(event.currentTarget.checked)}
          />
        )}
        <button type="button" class="title" aria-expanded={isOpen} disabled={onSelect === undefined} onClick={onSelect}>
          <strong>{tool}</strong> <span class="note">{caller.name}</span>
          {directory !== session.value?.workdir && <span class="note"> in {directory}</span>}
          {!isOpen && <span class="note summary">{JSON.stringify(input)}</span>}
        </button>
        {state !== 'pending' && <Chip tone={state === 'denied' ? 'bad' : 'good'}>{state}</Chip>}
        <Expiry item={item} />
      </header>
      {state === 'pending' && isOpen && (
        <>
          <Facts rows={rows.filter(([label]) => label !== 'input')} />
          <Code label="Input" value={input} />
          {changes !== undefined && (
            <>
              <h3>{changes.since === null ? 'The definition changed' : 'Changed since the last approved call'}</h3>
              <Diff lines={changes.lines} />
            </>
          )}
        </>
      )}
      {note !== undefined && <p class="note">{note}</p>}
      {isOpen && <Answers item={item} />}
    </article>
  );
}

function Expiry({ item: { until } }: { item: ApprovalItem }) {
  if (until === null) return null;
  const left = Date.parse(until) - now.value;
  return (
    <span class="note">{left > 0 ? `expires in ${formatDuration(Math.ceil(left / 1000) * 1000)}` : 'expired'}</span>
  );
}

function Answers({ item }: { item: ApprovalItem }) {
  const { id, digest, state } = item;
  const reason = useSignal('');
  const { error, isBusy, run } = useTask<void>();
  const decide = (body: RequestOf<'POST /api/approvals/:id'>): Promise<void> =>
    run(async () => {
      await request('POST /api/approvals/:id', { params: [id], body });
      await loadApprovals();
    });
  const deny = (): Promise<void> =>
    decide({ answer: 'deny', digest, ...(reason.value === '' ? {} : { reason: reason.value }) });
  if (state === 'denied') return null;
  return (
    <div class="actions">
      {state === 'pending' ? (
        <>
          <button
            type="button"
            class="primary"
            aria-keyshortcuts="a"
            disabled={isBusy.value}
            onClick={() => decide({ answer: 'once', digest })}
          >
            Approve once <kbd>a</kbd>
          </button>
          <button type="button" disabled={isBusy.value} onClick={() => decide({ answer: 'always', digest })}>
            Approve always
          </button>
          <TextInput label="Reason for denying" placeholder="Reason (optional)" text={reason} />
          <button type="button" class="danger" disabled={isBusy.value} onClick={deny}>
            Deny
          </button>
        </>
      ) : (
        <button type="button" class="danger" disabled={isBusy.value} onClick={deny}>
          {state === 'standing' ? 'Revoke' : 'Withdraw'}
        </button>
      )}
      <ErrorBox error={error.value} />
    </div>
  );
}
