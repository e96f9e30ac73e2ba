// What each provider takes of JSON Schema, as data: letters of names, and the rules of its strict mode.

/** The rules of a provider's strict mode. */
export interface StrictRules {
  /** How a property that may be left out is written: as one that may be null, or as it is. */
  readonly optional: 'nullable' | 'kept';
  /** Alternatives that are objects must not begin with the same property. */
  readonly distinctFirstKeys: boolean;
  readonly maxDepth: number;
  readonly maxProperties: number;
  readonly maxEnumValues: number;
  /** Characters of all names and choices of one schema. */
  readonly maxNameCharacters: number;
  /** What all strict tools of one request may hold together. */
  readonly perRequest?: StrictBudget;
}

export interface StrictBudget {
  readonly tools: number;
  readonly optional: number;
  readonly unions: number;
}

export interface Profile {
  readonly name: string;
  /** Property names that are sent as they are; others get a name of these letters. */
  readonly propertyName?: RegExp;
  readonly strict?: StrictRules;
}

// Two generations of limits are in use, and compatible services keep the older ones: the smaller hold.
const OPENAI_STRICT: StrictRules = {
  optional: 'nullable',
  distinctFirstKeys: true,
  maxDepth: 5,
  maxProperties: 100,
  maxEnumValues: 500,
  maxNameCharacters: 15_000,
};

const ANTHROPIC_STRICT: StrictRules = {
  optional: 'kept',
  distinctFirstKeys: false,
  maxDepth: 10,
  maxProperties: 200,
  maxEnumValues: 500,
  maxNameCharacters: 15_000,
  perRequest: { tools: 20, optional: 24, unions: 16 },
};

const SAFE_PROPERTY_NAME = /^[A-Za-z0-9_.-]{1,64}$/;

export const ANTHROPIC: Profile = {
  name: 'anthropic',
  propertyName: SAFE_PROPERTY_NAME,
  strict: ANTHROPIC_STRICT,
};
export const OPENAI: Profile = { name: 'openai', strict: OPENAI_STRICT };
export const OLLAMA: Profile = { name: 'ollama' };
/** For a library that speaks to any provider: what all of them take. */
export const ANY_PROVIDER: Profile = { name: 'any', propertyName: SAFE_PROPERTY_NAME };
