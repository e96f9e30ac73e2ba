// The fields of a server entry: their shapes, and the strings among them that may contain references.

import { isToolError } from '../../core/error.js';
import { isRecord, mapValues } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';
import { isForRules, parseSelectors } from '../../core/selector.js';
import {
  boolean,
  checked,
  converted,
  described,
  duration,
  type Fail,
  type Infer,
  list,
  nullable,
  object,
  oneOf,
  optional,
  record,
  type Shape,
  string,
  stringOrStrings,
  text,
  when,
} from '../../core/shape.js';
import { quoteOutside } from '../../core/text.js';
import { GRANTS, PROTOCOL_VERSIONS } from '../../core/upstream.js';
import { parseServerValue, toCommandValue } from './value.js';

/** Reports something about an entry; `keyPath` leads from the entry to the field. */
export type Report = (keyPath: readonly string[], message: string, hint: string) => void;

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

// A string that may contain references.
function value(field: string): Shape<string> {
  return checked(
    described(string, 'a string', 'put it in quotes'),
    (text, fail) => {
      if (text.includes('\u0000')) fail([], 'contains a NUL character', 'remove it');
      else if (field === 'headers' && /[\u0001-\u0008\u000a-\u001f\u007f]/.test(text))
        fail([], 'contains a control character, which a header cannot have', 'remove line breaks');
      else attempt(fail, '', () => parseServerValue(text, field));
    },
    { pattern: field === 'headers' ? '^[^\\x00-\\x08\\x0a-\\x1f\\x7f]*$' : '^[^\\x00]*$' },
  );
}

/** A command that prints a value, as a reference. */
export const command = converted(
  described(object({ cmd: list(string, 'an array of strings') }), 'a command such as { "cmd": ["op", "read", "…"] }'),
  ({ cmd }) => toCommandValue(cmd),
);

// A string that may contain references, or a command that prints the value.
function secret(field: string): Shape<string> {
  const text = value(field);
  return {
    ...text,
    toSchema: () => ({ anyOf: [text.toSchema(), command.toSchema()] }),
    read(given, report) {
      const read = isRecord(given) ? command.read(given, report) : given;
      return read === undefined && given !== undefined ? undefined : text.read(read, report);
    },
  };
}

function filled(field: string): Shape<string> {
  return checked(
    value(field),
    (text, fail) => {
      if (text.trim() === '') fail([], 'is empty', 'write a value or remove the field');
    },
    { pattern: '^[^\\x00]*[^\\s\\x00][^\\x00]*$' },
  );
}

function attempt(fail: Fail, what: string, parse: () => unknown): void {
  try {
    parse();
  } catch (error) {
    if (!isToolError(error)) throw error;
    fail([], `${what}${error.message}`, error.hint);
  }
}

/** Whether a string is an HTTP or HTTPS URL. */
export function isWebAddress(text: string): boolean {
  return /^https?:\/\//i.test(text) && !/[\s\u0000-\u001f\u007f]/.test(text) && URL.canParse(text);
}

// Selectors here choose which tools are offered; what may run is decided by rules.
const selectors = checked(
  described(stringOrStrings, 'selectors, as a string or an array of strings', 'write "get_* list_*"'),
  (texts, fail) =>
    attempt(fail, 'is not a valid selector: ', () => {
      const odd = parseSelectors(texts).find((one) => isForRules(one) || one.builtin || one.arguments.length > 0);
      if (odd !== undefined)
        fail(
          [],
          `contains "${quoteOutside(odd.text)}": arguments, directives and $names are for rules only`,
          'write names of its tools, such as "get_* list_*"',
        );
    }),
);

const PROVIDER = {
  issuer: value('oauth'),
  subject: optional(oneOf('access_token', 'id_token')),
};
const PLAIN_IDP = object(
  { ...PROVIDER, clientId: value('oauth'), clientSecret: optional(secret('oauth')) },
  { expected: 'an object of strings' },
);
// As in `[serve.auth]`.
const DASHED_IDP = converted(
  object(
    { ...PROVIDER, 'client-id': value('oauth'), 'client-secret': optional(secret('oauth')) },
    { expected: 'an object of strings' },
  ),
  ({ 'client-id': clientId, 'client-secret': clientSecret, ...rest }) => ({
    ...rest,
    clientId,
    ...(clientSecret === undefined ? {} : { clientSecret }),
  }),
);
const IDP: Shape<Infer<typeof PLAIN_IDP>> = {
  ...PLAIN_IDP,
  toSchema: () => ({ anyOf: [PLAIN_IDP.toSchema(), DASHED_IDP.toSchema()] }),
  read(given, report) {
    const isDashed = isRecord(given) && Object.keys(given).some((key) => key.startsWith('client-'));
    return (isDashed ? DASHED_IDP : PLAIN_IDP).read(given, report);
  },
};

const OAUTH = object(
  {
    clientId: optional(value('oauth')),
    clientSecret: optional(secret('oauth')),
    scope: optional(value('oauth')),
    issuer: optional(value('oauth')),
    grant: optional(oneOf(...GRANTS)),
    per: optional(oneOf('user')),
    privateKey: optional(secret('oauth')),
    assertion: optional(secret('oauth')),
    idp: optional(IDP),
  },
  { expected: 'an object of strings' },
);

// The identity provider is the login server, and its client is in `idp`.
const NOT_EXCHANGED = ['clientId', 'clientSecret', 'issuer', 'privateKey', 'assertion', 'per'] as const;

function checkOAuth(settings: Infer<typeof OAUTH>, fail: Fail): void {
  const { grant, issuer, clientId, clientSecret, privateKey, assertion, per, idp } = settings;
  const isExchange = grant === 'token_exchange' || grant === 'id_jag';
  if (isExchange !== (idp !== undefined))
    fail(
      idp === undefined ? [] : ['idp'],
      isExchange ? 'has no "idp"' : 'is used with the grants "token_exchange" and "id_jag" only',
      isExchange ? 'add "idp": the identity provider of your users, and the client there' : 'remove it',
    );
  if (idp !== undefined && !idp.issuer.includes('${') && !/^https?:\/\/./.test(idp.issuer))
    fail(['idp', 'issuer'], 'must begin with https://', 'write the issuer as its metadata names it');
  if (grant === 'token_exchange') {
    for (const name of NOT_EXCHANGED)
      if (settings[name] !== undefined) fail([name], 'is not used with the grant "token_exchange"', 'remove it');
    return;
  }
  if (clientId === undefined && (per === undefined || grant !== undefined || clientSecret !== undefined))
    fail(['clientId'], 'is missing', 'add "clientId": the client that is registered at the login server');
  if (issuer !== undefined && !issuer.includes('${') && !/^https?:\/\/./.test(issuer))
    fail(['issuer'], 'must begin with https://', 'write the issuer as its metadata names it');
  if (grant === undefined) {
    const odd = privateKey !== undefined ? 'privateKey' : assertion !== undefined ? 'assertion' : undefined;
    if (odd !== undefined)
      fail([odd], 'is used with a grant only', 'add "grant": "client_credentials" or "jwt_bearer"');
    return;
  }
  if (per !== undefined) fail(['per'], 'is not used with a grant, which logs in without a person', 'remove it');
  if (issuer === undefined)
    fail([], 'has a grant and no "issuer"', 'add "issuer": the login server that may get its credentials');
  if (clientSecret !== undefined && privateKey !== undefined)
    fail([], 'has both "clientSecret" and "privateKey"', 'keep one of them');
  if (grant === 'jwt_bearer') {
    if (assertion === undefined) fail([], 'has no "assertion"', 'add "assertion": "file:…"');
  } else if (grant === 'id_jag') {
    if (assertion !== undefined) fail(['assertion'], 'is made by the identity provider', 'remove it');
  } else if (assertion !== undefined) fail(['assertion'], 'is used with the grant "jwt_bearer" only', 'remove it');
  else if (clientSecret === undefined && privateKey === undefined)
    fail([], 'has neither "clientSecret" nor "privateKey"', 'add one of them, as a reference');
}

// The same as `checkOAuth`, for editors.
const OAUTH_KEYWORDS: JsonSchema = {
  allOf: [
    { properties: { issuer: { pattern: '\\$\\{|^https?://.' } } },
    { properties: { idp: { properties: { issuer: { pattern: '\\$\\{|^https?://.' } } } } },
    when(
      { required: ['grant'], properties: { grant: { enum: ['token_exchange', 'id_jag'] } } },
      { required: ['idp'] },
      { properties: { idp: false } },
    ),
    when(
      { required: ['grant'], properties: { grant: { const: 'token_exchange' } } },
      { properties: Object.fromEntries(NOT_EXCHANGED.map((name) => [name, false])) },
      {
        anyOf: [{ required: ['clientId'] }, { required: ['per'], properties: { clientSecret: false, grant: false } }],
        ...when(
          { required: ['grant'] },
          {
            required: ['issuer'],
            properties: { per: false },
            not: { required: ['clientSecret', 'privateKey'] },
            ...when(
              { properties: { grant: { const: 'jwt_bearer' } } },
              { required: ['assertion'] },
              {
                properties: { assertion: false },
                anyOf: [
                  { properties: { grant: { const: 'id_jag' } } },
                  { required: ['clientSecret'] },
                  { required: ['privateKey'] },
                ],
              },
            ),
          },
          { properties: { privateKey: false, assertion: false } },
        ),
      },
    ),
  ],
};

const OTHERS_ARE_DROPPED = { unknown: 'drop' } as const;

const INTEGRITY = /^(?:(?:sha\d+-[A-Za-z0-9+/=]+|sha256:[0-9a-f]{64})(?: |$))+$/;

/** The fields of a server that is started. */
export const STDIO = object(
  {
    command: filled('command'),
    args: optional(converted(nullable(list(value('args'), 'an array of strings')), (args) => args ?? [])),
    env: optional(
      record(secret('env'), {
        expected: 'an object of strings',
        findFault: (name) => (name === '' || /[=\u0000]/.test(name) ? 'is not a valid variable name' : undefined),
        keyPattern: '^[^=\\x00]+$',
      }),
    ),
    cwd: optional(filled('cwd')),
    shared: optional(boolean),
    integrity: optional(text('what wield mcp add writes, such as "sha512-…"', INTEGRITY)),
  },
  OTHERS_ARE_DROPPED,
);

/** The fields of a server at a URL. */
export const HTTP = object(
  {
    url: checked(
      filled('url'),
      (url, fail) => {
        // A URL with references is checked after expansion.
        if (!url.includes('${') && !isWebAddress(url))
          fail([], 'must begin with https:// or http://', 'write the full URL');
      },
      { pattern: '^(?:[^\\x00]*\\$\\{[^\\x00]*|[Hh][Tt][Tt][Pp][Ss]?://[^\\s\\x00-\\x1f\\x7f]+)$' },
    ),
    headers: optional(
      record(secret('headers'), {
        expected: 'an object of strings',
        findFault: (name) => (HEADER_NAME.test(name) ? undefined : 'is not a valid header name'),
        keyPattern: HEADER_NAME.source,
      }),
    ),
    oauth: optional(checked(OAUTH, checkOAuth, OAUTH_KEYWORDS)),
  },
  OTHERS_ARE_DROPPED,
);

const TIME = described(duration, duration.expected, 'a bare number is in seconds');
const PROTOCOL = oneOf(...PROTOCOL_VERSIONS);

/** The fields of every server. */
export const COMMON = object(
  {
    allow: optional(selectors),
    deny: optional(selectors),
    timeout: optional(TIME),
    startTimeout: optional(TIME),
    protocol: optional(described(PROTOCOL, PROTOCOL.expected, 'remove it to negotiate the version')),
    prefix: optional(boolean),
    disabled: optional(boolean),
    enabled: optional(boolean),
  },
  OTHERS_ARE_DROPPED,
);

const TEXT_FIELDS = ['command', 'args', 'env', 'cwd', 'url', 'headers', 'oauth'] as const;

/** Where a string of an entry is: its field, and its index or name in it. */
export interface TextPosition {
  readonly field: (typeof TEXT_FIELDS)[number];
  readonly name?: string;
}

/** Returns the entry with each string changed that may contain references. */
export function mapTexts<Entry extends object>(
  entry: Entry,
  change: (text: string, position: TextPosition) => string,
): Entry {
  const changed: Partial<Record<TextPosition['field'], unknown>> = {};
  for (const field of TEXT_FIELDS) {
    const value = (entry as Readonly<Record<string, unknown>>)[field];
    const inside = (text: unknown, name: string | number): string =>
      change(text as string, { field, name: String(name) });
    if (typeof value === 'string') changed[field] = change(value, { field });
    else if (Array.isArray(value)) changed[field] = value.map(inside);
    else if (isRecord(value))
      changed[field] = mapValues(value, (one, name) =>
        isRecord(one) ? mapValues(one, (text, part) => inside(text, `${name}.${part}`)) : inside(one, name),
      );
  }
  return { ...entry, ...changed };
}
