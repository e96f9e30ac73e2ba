// The types of a call that follow from the definition of its tool: its input and its result.

import type { FailedResult, SuccessfulResult, ToolResult } from './result.js';

/** A definition, as far as a call by it needs one: the call is that of its name, with the types of its schemas. */
export interface NamedDefinition {
  /** The name that is called. */
  readonly name: string;
  /** The schema that types the input, if it is of a library. */
  readonly inputSchema?: unknown;
  /** The schema that types the structured result, if it is of a library. */
  readonly outputSchema?: unknown;
}

/** The type of a value before parsing. */
export type InputOf<S> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly input: infer I }
    ? I
    : unknown
  : unknown;

/** The type of a value after parsing, with defaults and transforms applied. */
export type OutputOf<S> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly output: infer O }
    ? O
    : unknown
  : unknown;

/** The input of a tool without parameters. */
export type NoInput = Readonly<Record<string, never>>;

/** The schema in a field of a definition; never without one. */
type SchemaIn<D, Field extends keyof NamedDefinition> = Field extends keyof D ? Exclude<D[Field], undefined> : never;

type InputFor<S> = [S] extends [never] ? NoInput : InputOf<S>;

type ResultFor<Structured> = unknown extends Structured
  ? ToolResult
  : (SuccessfulResult<Structured> & { readonly structured: Structured }) | FailedResult;

/** The input that a tool accepts, `ToolInput<typeof greet>`; unknown if its schema is a JSON Schema. */
export type ToolInput<D extends NamedDefinition> = InputFor<SchemaIn<D, 'inputSchema'>>;

/** The result of a tool, `ToolResultOf<typeof greet>`: `structured` has the type of the output schema. */
export type ToolResultOf<D extends NamedDefinition> = [SchemaIn<D, 'outputSchema'>] extends [never]
  ? ToolResult
  : ResultFor<OutputOf<SchemaIn<D, 'outputSchema'>>>;

/** The names of definitions, without those that are not known when the program is compiled. */
export type NameOf<Known> = Known extends { readonly name: infer Name extends string }
  ? string extends Name
    ? never
    : Name
  : never;

/** The definition that a reference means: one of the known ones, the reference itself, or one without types. */
export type Meant<Known extends NamedDefinition, Ref> = Ref extends NamedDefinition
  ? Ref
  : Ref extends NameOf<Known>
    ? Extract<Known, { readonly name: Ref }>
    : NamedDefinition;

/** The names besides those of the definitions: none if all are known when the program is compiled. */
export type OtherNames<Known extends NamedDefinition> = [Known] extends [never]
  ? string
  : string extends Known['name']
    ? string
    : never;

/** A reference to a known or another tool; a string that is only known when the program runs is accepted too. */
export type KnownRef<Known extends NamedDefinition, Other extends string, Ref> = Ref extends string
  ? string extends Ref | Other
    ? NameOf<Known> | Ref
    : NameOf<Known>
  : Ref;

/** Returns the name or other reference that is called. */
export function toRef(ref: string | NamedDefinition): string {
  return typeof ref === 'object' && ref !== null ? ref.name : ref;
}
