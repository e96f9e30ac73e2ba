// HTTP operations as data: what a document declares, and what the configuration says about it.

import type { FileIdentity } from './origin.js';

/** Where a parameter is sent. */
export type HttpLocation = 'path' | 'query' | 'header' | 'cookie';

/** The styles of OpenAPI; tabs are of Swagger 2.0, and `json` is that of a media type. */
export type HttpStyleName =
  | 'simple'
  | 'label'
  | 'matrix'
  | 'form'
  | 'spaceDelimited'
  | 'pipeDelimited'
  | 'tabDelimited'
  | 'deepObject'
  | 'json';

/** How a value becomes text. */
export interface HttpStyle {
  readonly style: HttpStyleName;
  readonly explode: boolean;
  /** Reserved characters are sent as they are. */
  readonly allowReserved?: boolean;
}

export interface HttpParameter extends HttpStyle {
  /** Name on the wire. */
  readonly name: string;
  /** Property of the input. */
  readonly property: string;
  readonly in: HttpLocation;
}

/** A field of a body that is merged into the input. */
export interface HttpField extends Partial<HttpStyle> {
  readonly name: string;
  readonly property: string;
  /** Media type of a part of a form. */
  readonly contentType?: string;
  /** A body that is sent must have it; the body itself is optional. */
  readonly required?: boolean;
  /** Its text is base64 of bytes. */
  readonly binary?: boolean;
}

export interface HttpBody {
  readonly contentType: string;
  readonly kind: 'json' | 'form' | 'multipart' | 'text' | 'binary';
  /** It is sent even if it has no fields. */
  readonly required?: boolean;
  /** The property of the input that is the whole body; undefined: its fields are properties of the input. */
  readonly property?: string;
  /** Those of a whole body say how its fields are sent. */
  readonly fields: readonly HttpField[];
}

/** A way to identify oneself that a document declares. */
export interface HttpScheme {
  /** Name in the document. */
  readonly name: string;
  readonly kind: 'bearer' | 'basic' | 'key';
  readonly in: Exclude<HttpLocation, 'path'>;
  /** Name of the header, query parameter or cookie. */
  readonly parameter: string;
}

/** Sends an HTTP request. */
export interface HttpAction {
  readonly kind: 'http';
  /** Absolute path of the document. */
  readonly file: string;
  /** Identity of the file that the definition was read from. */
  readonly identity: FileIdentity;
  /** The name of the document, which is that of its table in the configuration. */
  readonly document: string;
  readonly method: string;
  /** Base URL that the document declares, without a final slash. */
  readonly server: string;
  /** Path with `{name}` for parameters. */
  readonly path: string;
  readonly parameters: readonly HttpParameter[];
  readonly body?: HttpBody;
  /** Alternatives, each a list of schemes that are used together; none: no credentials are needed. */
  readonly security: readonly (readonly HttpScheme[])[];
  readonly accept: string;
}

/** `[openapi.NAME]` of the user's configuration. */
export interface HttpSettings {
  /** A document outside the directories of tools. */
  readonly spec?: string;
  /** Where the configuration names it. */
  readonly position?: { readonly file: string; readonly line: number };
  /** Base URL, in place of that of the document. */
  readonly server?: string;
  /** Globs of operations: names, `METHOD /path` or tags. */
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
  /** References to secrets: one for the only scheme, or by the name of a scheme. */
  readonly auth?: string | Readonly<Record<string, string>>;
}
