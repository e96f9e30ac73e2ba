// Exports a recorded call: as a line for a shell, and as a test.

import { textOf } from '../../core/result.js';
import { quoteWord } from '../../core/text.js';
import type { CallExport, RecordedCall } from '../api.js';

export function exportCall(call: RecordedCall): CallExport {
  return { line: toShellLine(call), test: toTest(call) };
}

function toShellLine({ tool, input }: RecordedCall): string {
  return `wield call ${quoteWord(tool)} --input ${quoteWord(JSON.stringify(input))}`;
}

function toTest({ tool, input, result }: RecordedCall): string {
  const { error } = result;
  const [helper, check] =
    error === undefined
      ? ['expectOk', `assert.equal(textOf(expectOk(result)), ${JSON.stringify(textOf(result))});`]
      : ['expectError', `assert.equal(expectError(result, '${error.code}').code, '${error.code}');`];
  return [
    "import assert from 'node:assert/strict';",
    "import { test } from 'node:test';",
    ...(error === undefined ? ["import { textOf } from 'wield';"] : []),
    "import { createNodeToolbox } from 'wield/node';",
    `import { ${helper} } from 'wield/testing';`,
    '',
    `test(${JSON.stringify(`${tool} answers as recorded`)}, async () => {`,
    '  const toolbox = createNodeToolbox();',
    '  try {',
    `    const result = await toolbox.call(${JSON.stringify(tool)}, ${JSON.stringify(input)});`,
    `    ${check}`,
    '  } finally {',
    '    await toolbox.close();',
    '  }',
    '});',
    '',
  ].join('\n');
}
