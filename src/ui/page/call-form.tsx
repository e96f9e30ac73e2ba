// The form of a tool and its JSON, then the plan and the verdict, then the run.

import { type Signal, useComputed, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { type Json, parseWithPosition } from '../../core/json.js';
import type { Fault } from '../../core/schema.js';
import type { PlannedCall, ToolDetails } from '../api.js';
import { createForm, type FormState } from '../form/state.js';
import { request } from './client.js';
import { Part } from './fields/part.js';
import { ErrorBox } from './parts.js';
import { PlanView } from './plan.js';
import { view } from './route.js';
import { RunView } from './run.js';
import { useTask } from './use-request.js';

export function CallForm({ details }: { details: ToolDetails }) {
  const { input: schema, item } = details;
  const state = useSignal<FormState>(createForm(schema, view.value.input));
  const isJson = useSignal(false);
  const jsonFault = useSignal('');
  const running = useSignal<{ readonly plan: PlannedCall; readonly input: Json } | undefined>(undefined);
  const plan = useTask<PlannedCall & { readonly input: Json }>();
  const { input: given } = view.value;
  // A link or an edited call fills in the form, and nothing runs; a change of the catalog keeps what was typed.
  useEffect(() => {
    if (given !== undefined) state.value = createForm(schema, given);
  }, [given]);
  // A plan belongs to the input that it was made for.
  const current = useComputed(() =>
    plan.value.value !== undefined && plan.value.value.input === state.value.value ? plan.value.value : undefined,
  );
  const submit = (): void => {
    const input = state.value.value;
    const shown = current.value;
    if (shown !== undefined) running.value = { plan: shown, input };
    else plan.run(async () => ({ ...(await request('POST /api/plan', { body: { tool: item.name, input } })), input }));
  };
  const error = current.value === undefined ? plan.error.value : undefined;
  const faults = (error?.data?.faults ?? []) as readonly Fault[];
  const isDenied = current.value?.verdict.verdict === 'deny';
  return (
    <>
      <form
        class="call"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <InputView details={details} state={state} isJson={isJson} jsonFault={jsonFault} faults={faults} />
        <ErrorBox error={error} />
        {current.value !== undefined && <PlanView planned={current.value} />}
        <div class="actions">
          <button
            type="submit"
            class="primary"
            aria-keyshortcuts="r"
            disabled={plan.isBusy.value || isDenied || jsonFault.value !== ''}
          >
            {current.value === undefined ? 'Show plan' : 'Run this plan'} <kbd>r</kbd>
          </button>
          {current.value === undefined && <span class="note">Nothing runs before you have seen the plan.</span>}
        </div>
      </form>
      {running.value !== undefined && (
        <RunView key={running.value} tool={item.name} input={running.value.input} digest={running.value.plan.digest} />
      )}
    </>
  );
}

interface InputProps {
  readonly details: ToolDetails;
  readonly state: Signal<FormState>;
  readonly isJson: Signal<boolean>;
  readonly jsonFault: Signal<string>;
  readonly faults: readonly Fault[];
}

function InputView({ details, state, isJson, jsonFault, faults }: InputProps) {
  const { input: schema, examples } = details;
  const toggle = (json: boolean): void => {
    isJson.value = json;
    jsonFault.value = '';
  };
  return (
    <section aria-label="Input">
      <div class="switch">
        <button type="button" aria-pressed={!isJson.value} onClick={() => toggle(false)}>
          Form
        </button>
        <button type="button" aria-pressed={isJson.value} onClick={() => toggle(true)}>
          JSON
        </button>
        {examples.map((example, index) => (
          <button
            key={JSON.stringify(example)}
            type="button"
            class="quiet"
            onClick={() => {
              state.value = createForm(schema, example);
            }}
          >
            Example {index + 1}
          </button>
        ))}
      </div>
      {isJson.value ? (
        <JsonInput state={state} fault={jsonFault} />
      ) : (
        <Part form={{ root: schema, state, faults, Part }} schema={schema} path={[]} labelledBy="input-label" />
      )}
      <span id="input-label" class="hidden-label">
        Input of {details.item.name}
      </span>
      {faults
        .filter(({ path }) => path === '' || isJson.value)
        .map(({ path, expected, got }) => (
          <p key={path + expected} class="fault">
            {path} must be {expected}, got {got}
          </p>
        ))}
    </section>
  );
}

function JsonInput({ state, fault }: { state: Signal<FormState>; fault: Signal<string> }) {
  const text = useSignal(JSON.stringify(state.value.value, null, 2));
  return (
    <>
      <textarea
        class="json"
        aria-label="Input as JSON"
        rows={12}
        spellcheck={false}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          try {
            state.value = { value: parseWithPosition(text.value) as Json, choices: {} };
            fault.value = '';
          } catch (error) {
            fault.value = (error as Error).message;
          }
        }}
      />
      {fault.value !== '' && (
        <p class="fault" role="alert">
          not valid JSON: {fault.value}
        </p>
      )}
    </>
  );
}
