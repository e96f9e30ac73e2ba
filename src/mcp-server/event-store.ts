// Recent events of a session's streams, so that a client whose stream was cut can resume it (SRV-17).

import type { EventStore, JSONRPCMessage } from '@modelcontextprotocol/server';

interface StoredEvent {
  readonly id: string;
  readonly stream: string;
  readonly message: JSONRPCMessage;
  readonly size: number;
}

const MAX_EVENTS = 200;
const MAX_BYTES = 1024 * 1024;

/** Creates the store of one session. The oldest events are dropped; a client that asks for them gets an error. */
export function createEventStore(): EventStore {
  const events: StoredEvent[] = [];
  let last = 0;
  let bytes = 0;
  const find = (id: string): number => events.findIndex((event) => event.id === id);
  return {
    async storeEvent(stream, message) {
      const id = `${stream}_${++last}`;
      const size = JSON.stringify(message).length;
      bytes += size;
      events.push({ id, stream, message, size });
      while (events.length > MAX_EVENTS || (bytes > MAX_BYTES && events.length > 1)) bytes -= events.shift()!.size;
      return id;
    },
    async getStreamIdForEventId(id) {
      return events[find(id)]?.stream;
    },
    async replayEventsAfter(id, { send }) {
      const at = find(id);
      const { stream } = events[at] ?? {};
      if (stream === undefined) throw new Error('unknown event id');
      for (const event of events.slice(at + 1)) if (event.stream === stream) await send(event.id, event.message);
      return stream;
    },
  };
}
