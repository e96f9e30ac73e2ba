// YAML, edited by the document model of its parser, which keeps comments and order.

import { lineAt } from '../../core/text.js';
import { loadYaml } from '../../files/libraries.js';
import { type Form, FormFault, type KeyPath } from './form.js';

export const yamlForm: Form = {
  parse(text) {
    return (parse(text).toJS() as unknown) ?? {};
  },
  set(text, path, value, eol) {
    const document = parse(text);
    // A key without a value is a table without entries.
    for (const [at] of path.slice(0, -1).entries()) {
      const parent = path.slice(0, at + 1);
      if (document.hasIn(parent) && document.getIn(parent) === null) document.setIn(parent, document.createNode({}));
    }
    return edit(document, path, eol, () => document.setIn(path, document.createNode(value)));
  },
  remove(text, path) {
    const document = parse(text);
    if (!document.hasIn(path)) return text;
    return edit(document, path, /\r?\n/.exec(text)?.[0] ?? '\n', () => document.deleteIn(path));
  },
};

type YamlDocument = import('yaml').Document.Parsed;

function parse(text: string): YamlDocument {
  const [document, ...others] = loadYaml().parseAllDocuments(text) as YamlDocument[];
  if (others.length > 0) throw new FormFault('contains more than one document', null);
  const parsed = document ?? loadYaml().parseDocument(text);
  const [first] = parsed.errors;
  if (first === undefined) return parsed;
  throw new FormFault(first.message.split('\n')[0]!.replace(/ at line.*$/, ''), lineAt(text, first.pos[0]));
}

function edit(document: YamlDocument, path: KeyPath, eol: string, change: () => unknown): string {
  try {
    change();
  } catch {
    throw new FormFault(`${path[0]} is not a mapping`, null);
  }
  return document.toString({ lineWidth: 0 }).replaceAll('\n', eol);
}
