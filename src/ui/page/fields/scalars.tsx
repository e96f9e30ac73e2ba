// Fields of texts, numbers, booleans and fixed choices. An absent value is shown as not set, an empty text as empty.

import { isRecord, type Json, parseJson, toExactNumber } from '../../../core/json.js';
import { revealHidden } from '../../../core/text.js';
import type { Field, FieldOf } from '../../form/field.js';
import { type ControlProps, labelsOf } from './form-handle.js';

type Props<K extends Field['kind']> = ControlProps<FieldOf<K>>;

export function TextField({ field, value, set, labelledBy }: Props<'text'>) {
  const text = typeof value === 'string' ? value : '';
  const shared = {
    ...labelsOf(labelledBy),
    placeholder: value === undefined ? placeholderOf(field) : 'empty text',
    value: text,
    spellcheck: false,
  };
  const shown = revealHidden(text);
  const { format } = field;
  return (
    <div class="control">
      {format === 'password' ? (
        <input type="password" autocomplete="off" {...shared} onInput={(event) => set(event.currentTarget.value)} />
      ) : (
        <textarea rows={1} {...shared} onInput={(event) => set(event.currentTarget.value)} />
      )}
      {value === undefined && (
        <button type="button" class="quiet" aria-describedby={labelledBy} onClick={() => set('')}>
          Set empty
        </button>
      )}
      {shown !== text && <p class="note warn">Contains invisible characters: {shown}</p>}
    </div>
  );
}

export function NumberField({ field, value, set, path, labelledBy }: Props<'number'>) {
  return (
    <input
      inputMode={field.integer ? 'numeric' : 'decimal'}
      {...labelsOf(labelledBy)}
      placeholder={placeholderOf(field)}
      value={value === undefined ? '' : String(value)}
      autocomplete="off"
      onInput={(event) => {
        const text = event.currentTarget.value.trim();
        const isProperty = typeof path.at(-1) === 'string';
        set(text === '' && isProperty ? undefined : toNumber(text));
      }}
    />
  );
}

// What is not a number stays as it was typed, and is reported like any other wrong value.
function toNumber(text: string): Json {
  return (/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text) ? toExactNumber(text) : undefined) ?? text;
}

/** A field with fixed values: a choice, a boolean or null. */
export function ChoiceField({ field, value, set, labelledBy }: Props<'choice' | 'boolean' | 'null'>) {
  const values: readonly Json[] =
    field.kind === 'choice' ? field.values : field.kind === 'null' ? [null] : [true, false];
  const texts = values.map((entry) => JSON.stringify(entry));
  const index = value === undefined ? -1 : texts.indexOf(JSON.stringify(value));
  if (values.length === 1 && index === 0) return <code>{texts[0]}</code>;
  return (
    <select
      {...labelsOf(labelledBy)}
      value={String(index)}
      onChange={(event) => set(values[Number(event.currentTarget.value)])}
    >
      {index < 0 && <option value="-1">{placeholderOf(field)}</option>}
      {values.map((entry, at) => (
        <option key={texts[at]} value={String(at)}>
          {typeof entry === 'string' && entry !== '' ? entry : texts[at]}
        </option>
      ))}
    </select>
  );
}

/** A value that no field can show, as JSON. */
export function RawField({ value, set, labelledBy }: ControlProps<unknown>) {
  return (
    <div class="control">
      <textarea
        rows={isRecord(value) || Array.isArray(value) ? 4 : 1}
        {...labelsOf(labelledBy)}
        value={JSON.stringify(value, null, 2)}
        spellcheck={false}
        onChange={(event) => set(parseOr(event.currentTarget.value))}
      />
      <p class="note warn">This value is not of the declared type; it is shown as JSON.</p>
    </div>
  );
}

function parseOr(text: string): Json {
  try {
    return parseJson(text, 'the value');
  } catch {
    return text;
  }
}

function placeholderOf(field: Field): string {
  return field.default === undefined ? 'not set' : `not set (default ${JSON.stringify(field.default)})`;
}
