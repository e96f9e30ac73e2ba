// Fields of objects, maps, lists, tuples and unions, and their rows: name, texts, control, and what is wrong.

import { useLayoutEffect } from 'preact/hooks';
import { isRecord, type Json, type JsonObject, toPointer } from '../../../core/json.js';
import type { JsonSchema } from '../../../core/schema.js';
import { itemSchema, propertySchema } from '../../form/branch.js';
import { describeField } from '../../form/describe.js';
import { describeFault } from '../../form/faults.js';
import type { FieldOf } from '../../form/field.js';
import {
  branchAt,
  chooseBranch,
  initialValue,
  keepBranch,
  removeValue,
  renameProperty,
  valueAt,
} from '../../form/state.js';
import { Button } from '../parts.js';
import { type ControlProps, labelsOf, type PartProps } from './form-handle.js';

export function ObjectField({ form, field, value, set, schema, path, labelledBy }: ControlProps<FieldOf<'object'>>) {
  const { root, state } = form;
  if (value === undefined)
    return <AddButton labelledBy={labelledBy} text="Add object" onAdd={() => set(initialValue(schema, root))} />;
  const object = value as JsonObject;
  const declared = new Set(field.properties.map(({ name }) => name));
  const extra = Object.keys(object).filter((name) => !declared.has(name));
  // The validator refuses undeclared parameters of a tool, unless its schema allows them.
  const isDescribed = path.length === 0 && isRecord(schema) && isRecord(schema.properties);
  const canAdd =
    field.patterns.length > 0 ||
    (field.extra === undefined ? declared.size === 0 && !isDescribed : field.extra !== false);
  return (
    <fieldset aria-labelledby={labelledBy} class={path.length === 0 ? 'root' : ''}>
      {field.properties.map(({ name, schema: part, required }) => (
        <Row key={name} form={form} schema={part} path={[...path, name]} name={name} required={required} />
      ))}
      {extra.map((name, index) => (
        <Row
          key={declared.size + index}
          form={form}
          schema={propertySchema(field, name) ?? true}
          path={[...path, name]}
          name={name}
          required={false}
          onRename={(to) => {
            state.value = renameProperty(state.value, path, name, to);
          }}
        />
      ))}
      {canAdd && (
        <AddButton
          labelledBy={labelledBy}
          text="Add property"
          onAdd={() => {
            const part = field.patterns[0]?.[1] ?? field.extra ?? true;
            set({ ...object, [freeName(object)]: initialValue(part, root) });
          }}
        />
      )}
      {declared.size === 0 && !canAdd && <p class="note">No parameters.</p>}
    </fieldset>
  );
}

function freeName(object: JsonObject): string {
  for (let index = 1; ; index++) if (!Object.hasOwn(object, `key${index}`)) return `key${index}`;
}

export function ListField({ form, field, value, set, schema, path, labelledBy }: ControlProps<FieldOf<'list'>>) {
  if (value === undefined)
    return <AddButton labelledBy={labelledBy} text="Add list" onAdd={() => set(initialValue(schema, form.root))} />;
  const items = value as readonly Json[];
  const isFull = field.items === false && items.length >= field.prefix.length;
  return (
    <fieldset aria-labelledby={labelledBy}>
      {items.map((_, index) => (
        <Row
          key={index}
          form={form}
          schema={itemSchema(field, index)}
          path={[...path, index]}
          name={`${index + 1}`}
          required={false}
        />
      ))}
      {items.length === 0 && <p class="note">Empty list.</p>}
      {!isFull && (
        <AddButton
          labelledBy={labelledBy}
          text="Add item"
          onAdd={() => set([...items, initialValue(itemSchema(field, items.length), form.root)])}
        />
      )}
    </fieldset>
  );
}

export function UnionField({ form, field, value, set, path, labelledBy }: ControlProps<FieldOf<'union'>>) {
  const { state, root, Part } = form;
  const { branches } = field;
  const index = branchAt(state.value, path, branches, root);
  const isAbsent = value === undefined;
  // While something is typed the value may match another branch, or none.
  useLayoutEffect(() => {
    if (index >= 0 && !isAbsent) state.value = keepBranch(state.value, path, index);
  });
  return (
    <div class="control">
      <select
        {...labelsOf(labelledBy)}
        value={String(isAbsent ? -1 : index)}
        onChange={(event) => {
          const next = Number(event.currentTarget.value);
          if (next < 0) set(undefined);
          else state.value = chooseBranch(state.value, path, { branches, index: next, root });
        }}
      >
        {(isAbsent || index < 0) && <option value="-1">{isAbsent ? 'not set' : 'does not match'}</option>}
        {branches.map(({ label }, at) => (
          <option key={label} value={String(at)}>
            {label}
          </option>
        ))}
      </select>
      {!isAbsent && index >= 0 && !isFixed(branches[index]!.schema, root) && (
        <Part form={form} schema={branches[index]!.schema} path={path} labelledBy={labelledBy} />
      )}
    </div>
  );
}

// Choosing the branch says it all.
function isFixed(schema: unknown, root: JsonSchema): boolean {
  const field = describeField(schema, root);
  return field.kind === 'null' || (field.kind === 'choice' && field.values.length === 1);
}

function AddButton(props: { readonly labelledBy: string; readonly text: string; readonly onAdd: () => void }) {
  const { labelledBy, text, onAdd } = props;
  return (
    <Button class="quiet" aria-describedby={labelledBy} onClick={onAdd}>
      {text}
    </Button>
  );
}

interface RowProps extends Omit<PartProps, 'labelledBy'> {
  readonly name: string;
  readonly required: boolean;
  /** Given for a property whose name can be changed. */
  readonly onRename?: (name: string) => void;
}

function Row({ form, schema, path, name, required, onRename }: RowProps) {
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
        {wrong.map((fault) => (
          <p key={fault.expected} class="fault">
            {describeFault(fault)}
          </p>
        ))}
      </div>
    </div>
  );
}
