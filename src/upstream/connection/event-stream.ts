// Splits a response of the type text/event-stream into its events.

/** An event when it has ended; data in several lines is one text. */
export interface StreamEvent {
  /** Its other lines: `event:`, `id:`, `retry:` and comments. */
  readonly others: readonly string[];
  readonly data: string | undefined;
}

/** Returns a function that takes the next bytes and returns the events that they end. */
export function createEventSplitter(): (chunk: Uint8Array) => readonly StreamEvent[] {
  const decoder = new TextDecoder();
  let lines: string[] = [];
  let line = '';
  let afterReturn = false;
  return (chunk) => {
    const decoded = decoder.decode(chunk, { stream: true });
    const events: StreamEvent[] = [];
    const text = afterReturn && decoded.startsWith('\n') ? decoded.slice(1) : decoded;
    afterReturn = text.endsWith('\r');
    const [first = '', ...more] = text.split(/\r\n|\n|\r/);
    line += first;
    for (const next of more) {
      if (line !== '') lines.push(line);
      else if (lines.length > 0) {
        events.push(toEvent(lines));
        lines = [];
      }
      line = next;
    }
    return events;
  };
}

function toEvent(lines: readonly string[]): StreamEvent {
  const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(line[5] === ' ' ? 6 : 5));
  const others = lines.filter((line) => !line.startsWith('data:'));
  return { others, data: data.length === 0 ? undefined : data.join('\n') };
}
