// Where tools come from: their origin and owner, the directories that are searched, and the identity of a file.

/** Where a tool comes from (TOOL-6). */
export interface Origin {
  /** The format that the tool was read from: `script`, `module`, `mcp`, …. */
  readonly format: string;
  /** `file://…`, `mcp://server/tool`, `inline://id`, or null for a tool defined in code. */
  readonly uri: string | null;
  /** The directory of its file; null without one. */
  readonly directory: string | null;
  /** The installed package that the tool belongs to. */
  readonly source: string | null;
  /** SHA-256 of the definition and, for files, of the bytes that will run; null in listings. */
  readonly digest: string | null;
  /** Server name in listings; `local` for scripts (SCR-21). */
  readonly server: string | null;
  /** Owner of the files. Tools of a workspace run for a model only if it is trusted (POL-20). */
  readonly owner: Owner;
  /** The other name of an upstream tool that keeps its own; rules that restrict match both (UPS-24). */
  readonly otherName?: string;
  /** Names by other spellings of the URI that a resource is read by; rules that restrict match them too (RSC-1). */
  readonly spellings?: readonly string[];
  /** Set for a tool of a server that the workspace configured (POL-20). */
  readonly configuredBy?: 'workspace';
  /** Part of wield; matched by selectors that begin with `$` (SEL-4). */
  readonly builtin?: true;
}

/** The origin of a tool that is defined in code. */
export const IN_CODE: Origin = Object.freeze({
  format: 'module',
  uri: null,
  directory: null,
  source: null,
  digest: null,
  server: null,
  owner: 'program',
});

/** Returns the origin of a tool that a file of a place defines. */
export function toOrigin(
  format: string,
  uri: string,
  { directory, owner }: Pick<Place, 'directory' | 'owner'>,
): Origin {
  return { ...IN_CODE, format, uri, directory, owner };
}

/** `library`: declared by the user or the program, and outside the workspace (RES-5). */
export type Owner = 'program' | 'user' | 'library' | 'workspace' | 'package' | 'upstream';

/** Identifies a state of a file without reading it; `changedMs` (ctime) changes with every write or chmod. */
export interface FileIdentity {
  readonly device: number;
  readonly inode: number;
  readonly size: number;
  readonly changedMs: number;
  readonly mode: number;
}

/**
 * Kind of a place: scripts, modules in a directory below them, skills of the search path, links to installed tools, a
 * document or a file of tasks that the configuration names, or the root of the workdir.
 */
export type PlaceKind = 'tools' | 'groups' | 'skills' | 'packages' | 'documents' | 'tasks' | 'root';

/** Globs of names: only those that are included, without those that are excluded. */
export interface ToolFilter {
  readonly include?: readonly string[] | undefined;
  readonly exclude?: readonly string[] | undefined;
}

/** A directory that is searched for tools. */
export interface Place {
  /** Its absolute path. */
  readonly directory: string;
  /** The owner of its files. */
  readonly owner: Owner;
  /** What is searched for in it. */
  readonly kind: PlaceKind;
  /** Globs of ignored entries: matched against names, or against absolute paths if they contain `/`. */
  readonly ignore?: readonly string[];
  /** Belongs to a library, which may ship its own index (RES-22). */
  readonly external?: boolean;
  /** Its entries are read because a path names them, so a file need not look like a tool. */
  readonly named?: boolean;
  /** The only entry that is read. */
  readonly only?: string;
  /** The name that the configuration gives to it. */
  readonly label?: string;
  /** Which of its tools are offered. */
  readonly filter?: ToolFilter;
  /** The workspace that its files must be in; places of the user and of packages have none. */
  readonly boundary?: Boundary;
}

/** A directory that links must not lead out of (RES-46). */
export interface Boundary {
  readonly directory: string;
  /** Whether a file outside may be read all the same, because the workspace is trusted. Called for such files only. */
  readonly admits: (path: string) => boolean;
}
