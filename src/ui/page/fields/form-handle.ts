// What the fields of one form share.

import type { Signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import type { Json } from '../../../core/json.js';
import type { JsonSchema } from '../../../core/schema.js';
import type { FormFault } from '../../form/faults.js';
import type { FormState, Path } from '../../form/state.js';

export interface FormHandle {
  readonly root: JsonSchema;
  readonly state: Signal<FormState>;
  readonly faults: readonly FormFault[];
  /** The field of a part; given here because fields contain fields. */
  readonly Part: ComponentType<PartProps>;
}

export interface PartProps {
  readonly form: FormHandle;
  readonly schema: unknown;
  readonly path: Path;
  /** Id of the element that names the field. */
  readonly labelledBy: string;
}

export interface ControlProps<F> extends PartProps {
  readonly field: F;
  /** Undefined if it is absent. */
  readonly value: Json | undefined;
  /** Replaces the value; undefined removes it. */
  readonly set: (value: Json | undefined) => void;
}

/** Returns what names and describes the control of a row: its name, then its notes, description and faults. */
export function labelsOf(id: string): { 'aria-labelledby': string; 'aria-describedby': string } {
  return { 'aria-labelledby': id, 'aria-describedby': `${id}-notes ${id}-about ${id}-faults` };
}
