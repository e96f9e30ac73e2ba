// The serializer as source text, for isolates without imports (HLP-4).

import { ToolError } from '../core/error.js';
import { assemble, PARTS } from './serializer/assemble.js';

/** Names of the functions in the isolate; by default their own. */
export interface TransferableNames {
  readonly stringify?: string;
  readonly parse?: string;
  readonly reviveFns?: string;
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** Returns a classic script that declares `stringify`, `parse` and `reviveFns`, with the behaviour of this module's. */
export function transferableSerializerSource(names: TransferableNames = {}): string {
  const { stringify = 'stringify', parse = 'parse', reviveFns = 'reviveFns' } = names;
  for (const name of [stringify, parse, reviveFns]) {
    if (!IDENTIFIER.test(name)) {
      throw new ToolError('invalid_input', `"${name}" is not a valid function name`, {
        hint: 'use letters, digits, _ and $, not starting with a digit',
      });
    }
  }
  const parts = Object.entries(PARTS).map(([part, source]) => `${part}: ${source}`);
  // Wrapped in a function, so that the script declares three names only.
  const machinery = `(function () {
const { copy, write, deserialize } = (${assemble})({ ${parts.join(',\n')} });
return {
  stringify: (value, options = {}) => write(copy(value, 'markers', options), options.indent),
  parse: (text, options = {}) => deserialize(JSON.parse(text), options),
  reviveFns: (value) => deserialize(value, { functions: true }),
};
})()`;
  return `var { stringify: ${stringify}, parse: ${parse}, reviveFns: ${reviveFns} } = ${machinery};\n`;
}
