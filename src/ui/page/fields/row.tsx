// A row of a form: the name of a property or item, its texts, its control, and what is wrong with it.

import { describeField } from '../../form/describe.js';
import { removeValue, toPointer, valueAt } from '../../form/state.js';
import type { PartProps } from './form-handle.js';

export interface RowProps extends Omit<PartProps, 'labelledBy'> {
  readonly name: string;
  readonly required: boolean;
  /** Given for a property whose name can be changed. */
  readonly onRename?: (name: string) => void;
}

export function Row({ form, schema, path, name, required, onRename }: RowProps) {
  const { Part, state, root, faults } = form;
  const field = describeField(schema, root);
  const pointer = toPointer(path);
  const id = `field${pointer}`;
  const isAbsent = valueAt(state.value.value, path) === undefined;
  const wrong = faults.filter((fault) => fault.path === pointer);
  const remove = (): void => {
    state.value = removeValue(state.value, path);
  };
  return (
    <div class={isAbsent ? 'field absent' : 'field'} data-path={pointer}>
      <div class="field-head">
        {onRename === undefined ? (
          <span id={id} class="field-name">
            {name}
          </span>
        ) : (
          <>
            <span id={id} class="hidden-label">
              {name}
            </span>
            <input
              class="field-name"
              aria-label="Name of the property"
              value={name}
              onChange={(event) => onRename(event.currentTarget.value)}
            />
          </>
        )}
        <span id={`${id}-notes`} class="notes">
          {required && <span class="required">required</span>}
          {field.notes.map((note) => (
            <span key={note} class="note">
              {note}
            </span>
          ))}
        </span>
        {!isAbsent && (
          <button type="button" class="quiet remove" onClick={remove} aria-label={`Remove ${name}`}>
            ×
          </button>
        )}
      </div>
      <p id={`${id}-about`} class="note">
        {field.description ?? field.title}
      </p>
      <Part form={form} schema={schema} path={path} labelledBy={id} />
      <div id={`${id}-faults`} role="alert">
        {wrong.map(({ expected, got }) => (
          <p key={expected} class="fault">
            must be {expected}, got {got}
          </p>
        ))}
      </div>
    </div>
  );
}
