// Flattens the root of an input schema to one plain object, since providers reject combinators there.

import { isRecord } from '../../core/json.js';
import { mayBe, type Node } from './sanitize.js';

/** The properties that a node and its combinators describe. */
export interface ObjectView {
  readonly properties: Map<string, Node>;
  readonly required: Set<string>;
  /** Whether undeclared properties are allowed. */
  readonly open: boolean;
  /** Whether some part of the node allows them explicitly. */
  readonly explicit: boolean;
}

/**
 * Returns the object that a node with combinators describes, never narrower than the node. A property that one
 * alternative does not declare accepts anything, unless `closed` says that undeclared properties are rejected.
 */
export function viewObject(node: Node, closed: boolean): ObjectView {
  const properties = new Map<string, Node>(isRecord(node.properties) ? entriesOf(node.properties) : []);
  const required = new Set<string>((node.required as string[] | undefined) ?? []);
  const { additionalProperties: additional, patternProperties: patterns } = node;
  const explicit = (additional !== undefined && additional !== false) || patterns !== undefined;
  let open = additional !== false || patterns !== undefined;
  const views = ((node.allOf as Node[] | undefined) ?? []).map((part) => viewObject(part, closed));
  if (Array.isArray(node.anyOf)) {
    const branches = (node.anyOf as Node[]).filter((branch) => branch.type === undefined || mayBe(branch, 'object'));
    const viewed = branches.map((branch) => viewObject(branch, closed));
    if (viewed.length > 0) views.push(joinViews(viewed, closed));
  }
  for (const view of views) {
    for (const [name, schema] of view.properties) if (!properties.has(name)) properties.set(name, schema);
    for (const name of view.required) required.add(name);
    open &&= view.open;
  }
  return { properties, required, open, explicit: explicit || views.some((view) => view.explicit) };
}

function joinViews(views: readonly ObjectView[], closed: boolean): ObjectView {
  const names = new Set(views.flatMap((view) => [...view.properties.keys()]));
  const properties = new Map<string, Node>();
  for (const name of names) {
    const schemas = new Map<string, Node>();
    for (const view of views) {
      const schema = view.properties.get(name) ?? (view.open && (!closed || view.explicit) ? {} : undefined);
      if (schema !== undefined) schemas.set(JSON.stringify(schema), schema);
    }
    const different = [...schemas.values()];
    properties.set(name, different.length === 1 ? different[0]! : { anyOf: different });
  }
  const required = [...(views[0]?.required ?? [])].filter((name) => views.every((view) => view.required.has(name)));
  return {
    properties,
    required: new Set(required),
    open: views.some((view) => view.open),
    explicit: views.some((view) => view.explicit),
  };
}

/** Returns the root as a plain object schema. */
export function flattenRoot(root: Node, closed: boolean): Node {
  const { properties, required } = viewObject(root, closed);
  const { description, title, additionalProperties, patternProperties } = root;
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.size === 0 ? {} : { required: [...required] }),
    ...(patternProperties === undefined ? {} : { patternProperties }),
    ...(additionalProperties === undefined ? {} : { additionalProperties }),
  };
}

function entriesOf(record: Node): [string, Node][] {
  return Object.entries(record) as [string, Node][];
}
