// The alternatives of `anyOf` and `oneOf`, and which of them a fault is about.

import { describeFormat } from '../core/constraints.js';
import { isRecord, type Json } from '../core/json.js';
import { followRef, hasSomeType, type JsonSchema } from '../core/schema.js';
import { describeExpectation } from './expectation.js';
import { type Compiler, type Evaluated, isValid, type Run, type Visit } from './run.js';

export interface UnionContext {
  readonly root: JsonSchema;
  readonly visit: Compiler['visit'];
  /** What the whole union expects. */
  readonly expected: () => string;
}

export function compileUnion(keyword: string, schemas: unknown, { root, visit, expected }: UnionContext): Visit {
  const branches = Array.isArray(schemas) ? schemas.map((schema) => toBranch(schema, root, visit)) : [];
  const most = keyword === 'oneOf' ? 1 : Number.POSITIVE_INFINITY;
  return (value, run, evaluated) => {
    run.spend(2 * branches.length);
    const [first, ...others] = branches.filter((branch) => mayFit(branch, value));
    // Only one can be meant, so its faults are those of the union.
    if (first && others.length === 0 && typeof value === 'object') return first.visit(value, run, evaluated);
    if (matchesBranches(branches, most, value, run, evaluated)) return true;
    return run.quiet === 0 && failUnion(keyword, branches, value, run, expected);
  };
}

interface Branch {
  readonly visit: Visit;
  readonly types: readonly unknown[] | undefined;
  /** The possible values, if the schema lists them. */
  readonly values: readonly unknown[] | undefined;
  /** What its format expects, if it is known. */
  readonly format: string | undefined;
  readonly required: readonly string[];
  /** Properties with one possible text, which tell alternatives apart. */
  readonly marks: ReadonlyMap<string, string>;
}

function toBranch(schema: unknown, root: JsonSchema, visit: Compiler['visit']): Branch {
  const { type, format, required, properties, enum: choices, const: only } = followRef(schema, root);
  const marks = Object.entries(isRecord(properties) ? properties : {})
    .slice(0, 20)
    .flatMap(([name, property]) =>
      isRecord(property) && typeof property.const === 'string' ? [[name, property.const] as const] : [],
    );
  return {
    visit: visit(schema),
    types: type === undefined ? undefined : [type].flat(),
    values: only === undefined ? (Array.isArray(choices) ? choices : undefined) : [only],
    format: describeFormat(format),
    required: Array.isArray(required) ? required.slice(0, 20) : [],
    marks: new Map(marks),
  };
}

function fitsType({ types }: Branch, value: Json): boolean {
  return types === undefined || hasSomeType(value, types);
}

// Whether a value can be valid, judged by what is cheap to look at.
function mayFit(branch: Branch, value: Json): boolean {
  if (!fitsType(branch, value)) return false;
  if (!isRecord(value)) return true;
  if (!branch.required.every((name) => Object.hasOwn(value, name))) return false;
  for (const [name, mark] of branch.marks) if (Object.hasOwn(value, name) && value[name] !== mark) return false;
  return true;
}

// Whether at least one branch is valid, and at most `most`.
function matchesBranches(
  branches: readonly Branch[],
  most: number,
  value: Json,
  run: Run,
  evaluated: Evaluated | undefined,
): boolean {
  let matches = 0;
  for (const { visit } of branches) {
    const covered = evaluated && new Set<string | number>();
    if (!isValid(visit, value, run, covered)) continue;
    matches++;
    for (const name of covered ?? []) evaluated!.add(name);
    if (matches > most || (evaluated === undefined && most > 1)) break;
  }
  return matches > 0 && matches <= most;
}

// Reports the faults of the alternative that is meant, or what tells the alternatives apart.
function failUnion(keyword: string, branches: readonly Branch[], value: Json, run: Run, expected: () => string): false {
  const near = branches.filter((branch) => fitsType(branch, value));
  if (near.length === 0) return run.fail('value', expected, value);
  const mark = isRecord(value) ? findMark(near) : undefined;
  const given = mark === undefined ? undefined : (value as Readonly<Record<string, Json>>)[mark];
  const meant = mark === undefined ? near : near.filter(({ marks }) => marks.get(mark) === given);
  if (meant.length === 1) {
    meant[0]!.visit(value, run, undefined);
    return false;
  }
  if (mark !== undefined && meant.length === 0) {
    const choices = near.map(({ marks }) => marks.get(mark));
    return run.fail(given === undefined ? 'missing' : 'value', () => describeExpectation('enum', choices), given, mark);
  }
  const text = (): string => {
    if (near.every(({ values }) => values !== undefined))
      return describeExpectation(
        'enum',
        near.flatMap(({ values }) => values!),
      );
    const formats = near.map(({ format }) => format);
    return formats.includes(undefined) ? describeExpectation(keyword, []) : [...new Set(formats)].join(' or ');
  };
  return run.fail('value', text, value);
}

// The property that tells all alternatives apart.
function findMark([first, ...others]: readonly Branch[]): string | undefined {
  return [...first!.marks.keys()].find((name) => others.every(({ marks }) => marks.has(name)));
}
