// What each provider accepts: property names, and the rules of its strict mode.

/** The rules of a provider's strict mode. */
export interface StrictRules {
  /** Whether optional properties must be sent as nullable ones. */
  readonly optional: 'nullable' | 'supported';
  /** Whether alternatives that are objects must start with different properties. */
  readonly distinctFirstKeys: boolean;
  readonly maxDepth: number;
  readonly maxProperties: number;
  readonly maxEnumValues: number;
  /** Total length of all property names and enum values of a schema. */
  readonly maxNameCharacters: number;
  /** Limits for all strict tools of one request together. */
  readonly perRequest?: StrictBudget;
}

export interface StrictBudget {
  readonly tools: number;
  readonly optional: number;
  readonly unions: number;
}

export interface Profile {
  readonly name: string;
  /** Valid property names; others are renamed. */
  readonly propertyName?: RegExp;
  readonly strict?: StrictRules;
}

// The older, smaller limits, which compatible services still have.
const OPENAI_STRICT: StrictRules = {
  optional: 'nullable',
  distinctFirstKeys: true,
  maxDepth: 5,
  maxProperties: 100,
  maxEnumValues: 500,
  maxNameCharacters: 15_000,
};

const ANTHROPIC_STRICT: StrictRules = {
  optional: 'supported',
  distinctFirstKeys: false,
  maxDepth: 10,
  maxProperties: 200,
  maxEnumValues: 500,
  maxNameCharacters: 15_000,
  perRequest: { tools: 20, optional: 24, unions: 16 },
};

const SAFE_PROPERTY_NAME = /^[A-Za-z0-9_.-]{1,64}$/;

export const ANTHROPIC: Profile = { name: 'anthropic', propertyName: SAFE_PROPERTY_NAME, strict: ANTHROPIC_STRICT };
export const OPENAI: Profile = { name: 'openai', strict: OPENAI_STRICT };
export const OLLAMA: Profile = { name: 'ollama' };
/** For libraries that support any provider: what all of them accept. */
export const ANY_PROVIDER: Profile = { name: 'any', propertyName: SAFE_PROPERTY_NAME };
