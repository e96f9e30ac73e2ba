// What is shown before a tool is chosen: the first steps that are not done, and what waits.

import { useComputed, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { isUnused } from './catalog.js';
import { Button, Chip, Empty } from './parts.js';
import { formatRoute } from './route.js';
import { calls, catalog, changes, isElsewhere, isLoaded, pending, session } from './store.js';

export function Welcome() {
  if (!isLoaded.value) return <Empty>Loading …</Empty>;
  const waiting = [
    ['inbox', pending.value.length, 'call waits', 'calls wait', 'for approval'],
    ['changes', changes.value.length, 'tool has', 'tools have', 'changed since approval'],
  ] as const;
  return (
    <div class="welcome">
      {waiting.map(
        ([panel, number, one, many, what]) =>
          number > 0 && (
            <p key={panel} class="box warn">
              <a href={formatRoute({ panel })}>{`${number} ${number === 1 ? one : many} ${what}`}</a>
            </p>
          ),
      )}
      <FirstSteps />
    </div>
  );
}

// Each is done in a terminal, which shows what it changes and asks first (UI-78).
function FirstSteps() {
  const isUsed = useComputed(() => calls.value.some((call) => call.kind === 'model' && !isElsewhere(call)));
  const hasTools = catalog.value.items.some((item) => !isUnused(item) && item.kind !== 'server');
  const hasServers = catalog.value.items.some(({ kind }) => kind === 'server');
  const isTrusted = session.value?.trusted === true;
  const isDone = hasTools && isTrusted && isUsed.value;
  return (
    <>
      <h1>{hasTools ? 'Pick a tool' : hasServers ? 'The servers have no tools yet' : 'No tools yet'}</h1>
      {hasTools && (
        <p>
          Type <kbd>/</kbd> to search, <kbd>j</kbd> and <kbd>k</kbd> to move.
        </p>
      )}
      {!isDone && (
        <section class="steps" aria-label="First steps">
          <p>
            In a terminal, in <code>{session.value?.workdir}</code>:
          </p>
          <ol>
            <Step title="Create a first tool" command="wield init" isDone={hasTools}>
              Creates the script hello and trusts this directory. For your own: <code>wield new NAME</code>, for a
              server: <code>wield mcp add</code>.
            </Step>
            <Step title="Trust this directory" command="wield trust" isDone={isTrusted}>
              Models can call its tools after that. You can call them here without it.
            </Step>
            <Step title="Connect a client" command="wield connect" isDone={isUsed.value}>
              Lists Claude Code, Cursor and others; <code>wield connect NAME</code> adds wield to one. Its calls appear
              here.
            </Step>
          </ol>
        </section>
      )}
    </>
  );
}

interface StepProps {
  readonly title: string;
  readonly command: string;
  readonly isDone: boolean;
  readonly children: ComponentChildren;
}

function Step({ title, command, isDone, children }: StepProps) {
  const isCopied = useSignal(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(command);
    isCopied.value = true;
  };
  return (
    <li>
      <strong>{title}</strong> {isDone && <Chip tone="good">done</Chip>}
      {!isDone && (
        <>
          <div class="actions">
            <code>{command}</code>
            <Button class="quiet" aria-label={`Copy ${command}`} onClick={copy}>
              {isCopied.value ? 'Copied' : 'Copy'}
            </Button>
          </div>
          <p class="note">{children}</p>
        </>
      )}
    </li>
  );
}
