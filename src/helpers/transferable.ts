// The serializer as source text, for isolates that can import nothing (HLP-4).

import { ToolError } from '../core/error.js';
import { createCopier } from './serializer/copy.js';
import { createFrames } from './serializer/frames.js';
import { createReviver } from './serializer/revive.js';

/** What the functions are called in the isolate; each by its own name unless told otherwise. */
export interface TransferableNames {
  readonly stringify?: string;
  readonly parse?: string;
  readonly reviveFns?: string;
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** A classic script that declares `stringify`, `parse` and `reviveFns`, which behave as those of this module do. */
export function transferableSerializerSource(names: TransferableNames = {}): string {
  const { stringify = 'stringify', parse = 'parse', reviveFns = 'reviveFns' } = names;
  for (const name of [stringify, parse, reviveFns]) {
    if (!IDENTIFIER.test(name)) {
      throw new ToolError('invalid_input', `"${name}" cannot be the name of a function`, {
        hint: 'use letters, digits, _ and $, and no digit first',
      });
    }
  }
  // In a function of its own, so that the script adds three names and no more.
  const machinery = `(function () {
const frames = (${createFrames})();
const { copy, write } = (${createCopier})(frames);
const { deserialize } = (${createReviver})(frames);
return {
  stringify: (value, options = {}) => write(copy(value, 'markers', options), options.indent),
  parse: (text, options = {}) => deserialize(JSON.parse(text), options),
  reviveFns: (value) => deserialize(value, { functions: true }),
};
})()`;
  return `var { stringify: ${stringify}, parse: ${parse}, reviveFns: ${reviveFns} } = ${machinery};\n`;
}
