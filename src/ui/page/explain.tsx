// Explain: which rule of which file decides, and what if another caller sent another input.

import { useSignal } from '@preact/signals';
import type { CallerKind } from '../../core/caller.js';
import { orNothing } from '../../core/error.js';
import type { Json } from '../../core/json.js';
import type { Explained } from '../api.js';
import { request } from './client.js';
import { Choice, Empty, ErrorBox, PositionText, TextInput } from './parts.js';
import { VerdictView } from './plan.js';
import { view } from './route.js';
import { calls } from './store.js';
import { useTask } from './use-request.js';

const KINDS: Readonly<Record<CallerKind, string>> = { model: 'model', person: 'person', code: 'code' };
const DOORS: Readonly<Record<CallerKind, string>> = { model: 'mcp', person: 'cli', code: 'code' };

export function ExplainTab({ name }: { name: string }) {
  const kind = useSignal<CallerKind>('model');
  const client = useSignal('');
  const text = useSignal(view.value.input === undefined ? '' : JSON.stringify(view.value.input));
  const fault = useSignal('');
  const { value, error, run } = useTask<Explained>();
  const clients = [...new Set(calls.value.filter((call) => call.kind === 'model').map(({ caller }) => caller))];
  const explain = (): void => {
    const isGiven = text.value.trim() !== '';
    const input = isGiven ? orNothing((): Json => JSON.parse(text.value)) : undefined;
    fault.value = isGiven && input === undefined ? 'the input is not valid JSON' : '';
    if (fault.value !== '') return;
    const caller = { kind: kind.value, door: DOORS[kind.value], name: client.value || undefined };
    run(() => request('POST /api/explain', { body: { tool: name, caller, input } }));
  };
  return (
    <section aria-label="Explain">
      <form
        class="what-if"
        onSubmit={(event) => {
          event.preventDefault();
          explain();
        }}
      >
        <span>What if</span>
        <Choice label="Kind of caller" choice={kind} texts={KINDS} />
        <TextInput label="Name of the client" placeholder="any client" list="clients" text={client} />
        <datalist id="clients">
          {clients.map((entry) => (
            <option key={entry} value={entry} />
          ))}
        </datalist>
        <span>sent</span>
        <TextInput label="Input as JSON" class="wide" placeholder='any input, or {"name": …}' text={text} />
        <button type="submit">Explain</button>
      </form>
      {fault.value !== '' && <p class="fault">{fault.value}</p>}
      <ErrorBox error={error.value} />
      {value.value === undefined ? (
        <Empty>Which rule decides, for any caller and input.</Empty>
      ) : (
        <Answer explained={value.value} />
      )}
    </section>
  );
}

export function Answer({ explained }: { explained: Explained }) {
  const { verdict, unmatched, sandbox } = explained;
  return (
    <div class="box" aria-live="polite">
      <VerdictView verdict={verdict} />
      {sandbox !== undefined && <p class="note">{sandbox}</p>}
      {unmatched.length > 0 && (
        <>
          <h3>Rules that do not match</h3>
          <ul class="plain">
            {unmatched.map(({ text, file, line }) => (
              <li key={`${text} ${file} ${line}`}>
                <code>{text}</code> {file !== null && <PositionText position={{ file, line }} />}
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}
