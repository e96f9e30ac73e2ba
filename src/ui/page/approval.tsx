// One approval: the plan that it is bound to, what changed since the last one, and the answers.

import { useSignal } from '@preact/signals';
import { formatDuration } from '../../core/text.js';
import type { ApprovalDecision, ApprovalItem } from '../api.js';
import { request } from './client.js';
import { now } from './clock.js';
import { Chip, Code, Diff, ErrorBox, Facts, TextInput } from './parts.js';
import { loadApprovals } from './store.js';
import { useTask } from './use-request.js';

interface CardProps {
  readonly item: ApprovalItem;
  readonly isSelected: boolean;
  readonly onSelect?: () => void;
  readonly isChecked?: boolean;
  readonly onCheck?: (isChecked: boolean) => void;
}

export function ApprovalCard({ item, isSelected, onSelect, isChecked = false, onCheck }: CardProps) {
  const { tool, caller, rows, input, changes, state, note } = item;
  const isOpen = state !== 'pending' || isSelected;
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
  const decide = (body: ApprovalDecision): Promise<void> =>
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
