// Documents as a call uses them: what a session has read stays with what it writes, for every session that reads it (FLW-9).

import type { DocumentStore, Stores } from '../core/store.js';
import { carryLabels, enterLabels, type LabelledCall, type LabelParts } from './labels.js';

/** Wraps the documents of a workdir, which share their labels: a search or list shows many of them at once. */
export function withLabels(
  parts: LabelParts,
  callOf: () => LabelledCall,
  { documents, documentsName }: Stores,
): DocumentStore {
  if (parts.labels === undefined) return documents;
  const labels = parts.labels;
  const write = async <T>(run: () => Promise<T>): Promise<T> => {
    await carryLabels(parts, callOf(), documentsName);
    return run();
  };
  const read = async <T>(run: () => Promise<T>): Promise<T> => {
    const entered = await labels.read(documentsName);
    await enterLabels(
      parts,
      callOf(),
      entered.map(({ label }) => label),
    );
    return run();
  };
  return {
    write: (...given) => write(() => documents.write(...given)),
    copy: (...given) => write(() => documents.copy(...given)),
    remove: (...given) => documents.remove(...given),
    read: (...given) => read(() => documents.read(...given)),
    open: (...given) => read(() => documents.open(...given)),
    list: (...given) => read(() => documents.list(...given)),
    versions: (...given) => read(() => documents.versions(...given)),
    search: (...given) => read(() => documents.search(...given)),
    clean: (...given) => documents.clean(...given),
    close: () => documents.close(),
  };
}
