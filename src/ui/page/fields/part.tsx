// Chooses the control of a field by its kind.

import type { ComponentType } from 'preact';
import { canShow } from '../../form/branch.js';
import { describeField } from '../../form/describe.js';
import type { Field } from '../../form/field.js';
import { removeValue, setValue, valueAt } from '../../form/state.js';
import { ListField, ObjectField, UnionField } from './containers.js';
import type { ControlProps, PartProps } from './form-handle.js';
import { ChoiceField, NumberField, RawField, TextField } from './scalars.js';

const CONTROLS = {
  text: TextField,
  number: NumberField,
  boolean: ChoiceField,
  null: ChoiceField,
  choice: ChoiceField,
  object: ObjectField,
  list: ListField,
  union: UnionField,
  never: RawField,
} satisfies { [K in Field['kind']]: unknown };

export function Part(props: PartProps) {
  const { form, schema, path } = props;
  const field = describeField(schema, form.root);
  const value = valueAt(form.state.value.value, path);
  // A union shows that nothing matches; an unfinished number is a text, or not whole.
  const isDraft = field.kind === 'union' || (field.kind === 'number' && /string|number/.test(typeof value));
  const isShown = value === undefined || isDraft || canShow(value, field, form.root);
  const Control = (isShown ? CONTROLS[field.kind] : RawField) as ComponentType<ControlProps<Field>>;
  const set: ControlProps<Field>['set'] = (next) => {
    const { state } = form;
    state.value = next === undefined ? removeValue(state.value, path) : setValue(state.value, path, next);
  };
  return <Control {...props} field={field} value={value} set={set} />;
}
