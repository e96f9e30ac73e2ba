// The inbox: calls that wait for a person, with the plan that each is bound to and the answers.

import { type Signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { formatDuration } from '../../core/text.js';
import type { ApprovalItem } from '../api.js';
import { request } from './client.js';
import { now } from './clock.js';
import { onMove } from './keys.js';
import { askPermission, permission } from './notify.js';
import { Button, Chip, Code, Diff, Empty, ErrorBox, Facts, TextInput } from './parts.js';
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
          <Button class="quiet" onClick={askPermission}>
            Notify me
          </Button>
        )}
      </header>
      {checked.value.length > 0 && (
        <BatchDenial items={waiting.filter((item) => checked.value.includes(keyOf(item)))} />
      )}
      {waiting.length === 0 && <Empty>No call waits for approval.</Empty>}
      {waiting.map((item) => (
        <ApprovalCard key={keyOf(item)} item={item} choice={{ selected, checked }} />
      ))}
      {others.length > 0 && <h2>Decided</h2>}
      {others.map((item) => (
        <ApprovalCard key={keyOf(item)} item={item} />
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
  const task = useTask<void>();
  const denyAll = (): Promise<void> =>
    task.run(async () => {
      const deny = items.map(({ id, digest }) => ({ id, digest }));
      await request('POST /api/approvals', { body: { deny, reason: reason.value || undefined } });
      await loadApprovals();
    });
  if (items.length === 0) return null;
  return (
    <div class="box warn actions">
      <TextInput label="Reason for all" placeholder="Reason (optional)" text={reason} />
      <Button class="danger" task={task} onClick={denyAll}>
        {`Deny ${items.length} selected`}
      </Button>
      <ErrorBox error={task.error.value} />
    </div>
  );
}

interface CardProps {
  readonly item: ApprovalItem;
  /** The keys of the card that is open, and of those that are checked; of pending calls. */
  readonly choice?: { readonly selected: Signal<string | undefined>; readonly checked: Signal<readonly string[]> };
}

function ApprovalCard({ item, choice }: CardProps) {
  const { tool, caller, rows, input, changes, state, note } = item;
  const key = keyOf(item);
  const isSelected = choice?.selected.value === key;
  const isOpen = state !== 'pending' || isSelected;
  const directory = rows.find(([label]) => label === 'in')?.[1];
  return (
    <article class={isSelected ? 'card selected' : 'card'} aria-label={`${tool} for ${caller.name}`}>
      <header class="card-head">
        {choice !== undefined && (
          <input
            type="checkbox"
            aria-label={`Select ${tool}`}
            checked={choice.checked.value.includes(key)}
            onChange={(event) => {
              const rest = choice.checked.value.filter((other) => other !== key);
              choice.checked.value = event.currentTarget.checked ? [...rest, key] : rest;
            }}
          />
        )}
        <Button
          class="title"
          aria-expanded={isOpen}
          disabled={choice === undefined}
          onClick={() => {
            if (choice !== undefined) choice.selected.value = key;
          }}
        >
          <strong>{tool}</strong> <span class="note">{caller.name}</span>
          {directory !== session.value?.workdir && <span class="note"> in {directory}</span>}
          {!isOpen && <span class="note summary">{JSON.stringify(input)}</span>}
        </Button>
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

const DENY_TEXTS = { pending: 'Deny', standing: 'Revoke', approved: 'Withdraw' };

function Answers({ item }: { item: ApprovalItem }) {
  const { id, digest, state } = item;
  const reason = useSignal('');
  const task = useTask<void>();
  const decide = (answer: 'once' | 'always' | 'deny'): Promise<void> =>
    task.run(async () => {
      const body = { answer, digest, reason: reason.value || undefined };
      await request('POST /api/approvals/:id', { params: [id], body });
      await loadApprovals();
    });
  if (state === 'denied') return null;
  return (
    <div class="actions">
      {state === 'pending' && (
        <>
          <Button class="primary" aria-keyshortcuts="a" task={task} onClick={() => decide('once')}>
            Approve once <kbd>a</kbd>
          </Button>
          <Button task={task} onClick={() => decide('always')}>
            Approve always
          </Button>
          <TextInput label="Reason for denying" placeholder="Reason (optional)" text={reason} />
        </>
      )}
      <Button class="danger" task={task} onClick={() => decide('deny')}>
        {DENY_TEXTS[state]}
      </Button>
      <ErrorBox error={task.error.value} />
    </div>
  );
}
