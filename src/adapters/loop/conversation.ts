// The conversation that a loop is part of: what it has read counts for its later calls, and not for other loops (FLW-12).

import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { isRecord } from '../../core/json.js';
import type { LoopCallOptions } from '../shared/adapter.js';

export interface Conversation extends Pick<LoopCallOptions, 'session' | 'joined'> {
  /** Remembers a message that the loop made. */
  add(message: object): void;
  /** Runs calls; a loop that one of their tools runs is part of the conversation. */
  run<T>(calls: () => Promise<T>): Promise<T>;
}

// The sessions of messages that loops made.
const sessions = new WeakMap<object, string>();
const running = new AsyncLocalStorage<string>();

/**
 * Finds the conversation of a loop: the one that is named, those whose messages it continues, and the one whose tool runs
 * it. A loop without any begins one, unless a model or tool that is not known wrote some of its messages.
 */
export function findConversation(named: string | undefined, messages: readonly object[]): Conversation {
  const found = [named, ...messages.map((message) => sessions.get(message)), running.getStore()];
  const all = [...new Set(found.filter((one) => one !== undefined))];
  const [session = isOfPeople(messages) ? `loop ${randomUUID()}` : undefined, ...joined] = all;
  return {
    session,
    ...(session === undefined ? {} : { joined }),
    add(message) {
      if (session !== undefined) sessions.set(message, session);
    },
    run: (calls) => (session === undefined ? calls() : running.run(session, calls)),
  };
}

const PEOPLE: readonly unknown[] = ['user', 'system', 'developer'];

// Whether neither a model nor a tool wrote the messages, in the format of any provider.
function isOfPeople(messages: readonly object[]): boolean {
  return messages.every((message) => {
    const { role, content } = message as { readonly role?: unknown; readonly content?: unknown };
    const parts = Array.isArray(content) ? content : [];
    return PEOPLE.includes(role) && !parts.some((part) => isRecord(part) && part.type === 'tool_result');
  });
}
