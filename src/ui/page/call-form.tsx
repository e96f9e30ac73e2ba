// The form of a tool and its JSON, then the plan and the verdict, then the run.

import { type Signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { type Json, parseJson } from '../../core/json.js';
import type { PlannedCall, ToolDetails } from '../api.js';
import { describeFault, type FormFault } from '../form/faults.js';
import { createForm, type FormState } from '../form/state.js';
import { request } from './client.js';
import { Part } from './fields/part.js';
import { Button, ErrorBox, Toggle } from './parts.js';
import { PlanView } from './plan.js';
import { view } from './route.js';
import { RunView } from './run.js';
import { useCheck } from './use-request.js';

export function CallForm({ details }: { details: ToolDetails }) {
  const { input: schema, item } = details;
  const state = useSignal<FormState>(createForm(schema, view.value.input));
  const jsonFault = useSignal('');
  const running = useSignal<{ readonly plan: PlannedCall; readonly input: Json } | undefined>(undefined);
  const input = state.value.value;
  const plan = useCheck(input, () => request('POST /api/plan', { body: { tool: item.name, input } }));
  const { input: given } = view.value;
  // A link or an edited call fills in the form, and nothing runs; a change of the catalog keeps what was typed.
  useEffect(() => {
    if (given !== undefined) state.value = createForm(schema, given);
  }, [given]);
  const submit = (): void => {
    if (plan.value === undefined) plan.ask();
    else running.value = { plan: plan.value, input };
  };
  const current = plan.value;
  return (
    <>
      <form
        class="call"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <InputView details={details} state={state} jsonFault={jsonFault} faults={plan.faults} />
        <ErrorBox error={plan.error} />
        {current !== undefined && <PlanView planned={current} />}
        <div class="actions">
          <button
            type="submit"
            class="primary"
            aria-keyshortcuts="r"
            onClick={(event) => {
              // The second click of a double click is not consent to a plan that appeared in between.
              if (event.detail > 1) event.preventDefault();
            }}
            disabled={current?.verdict.verdict === 'deny' || jsonFault.value !== ''}
          >
            {current === undefined ? 'Show plan' : 'Run this plan'} <kbd>r</kbd>
          </button>
          {current === undefined && <span class="note">Nothing runs before you have seen the plan.</span>}
        </div>
      </form>
      {running.value !== undefined && (
        <RunView
          key={running.value}
          tool={item.name}
          input={running.value.input}
          digest={running.value.plan.digest}
          onChanged={plan.forget}
        />
      )}
    </>
  );
}

interface InputProps {
  readonly details: ToolDetails;
  readonly state: Signal<FormState>;
  readonly jsonFault: Signal<string>;
  readonly faults: readonly FormFault[];
}

function InputView({ details, state, jsonFault, faults }: InputProps) {
  const { input: schema, examples } = details;
  const isJson = useSignal(false);
  return (
    <section aria-label="Input">
      <div class="switch">
        <Toggle choice={isJson} to={false}>
          Form
        </Toggle>
        <Toggle choice={isJson} to={true}>
          JSON
        </Toggle>
        {examples.map((example, index) => (
          <Button
            key={JSON.stringify(example)}
            class="quiet"
            onClick={() => {
              state.value = createForm(schema, example);
            }}
          >
            Example {index + 1}
          </Button>
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
        .map((fault) => (
          <p key={fault.path + fault.expected} class="fault">
            {`${fault.path.slice(1)} ${describeFault(fault)}`}
          </p>
        ))}
    </section>
  );
}

function JsonInput({ state, fault }: { state: Signal<FormState>; fault: Signal<string> }) {
  const text = useSignal(JSON.stringify(state.value.value, null, 2));
  useEffect(
    () => () => {
      fault.value = '';
    },
    [],
  );
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
            state.value = { value: parseJson(text.value, 'the input'), choices: {} };
            fault.value = '';
          } catch (error) {
            fault.value = (error as Error).message;
          }
        }}
      />
      {fault.value !== '' && (
        <p class="fault" role="alert">
          {fault.value}
        </p>
      )}
    </>
  );
}
