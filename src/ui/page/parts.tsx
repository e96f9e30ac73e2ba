// Small parts that several panels use.

import type { Signal } from '@preact/signals';
import type { ComponentChildren, ComponentProps } from 'preact';
import type { ErrorValue } from '../../core/error.js';
import type { Position } from '../api.js';
import type { Task } from './use-request.js';

export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'plain';

export function Chip({ tone = 'plain', children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`chip ${tone}`}>{children}</span>;
}

const VERDICT_TONES: Readonly<Record<string, Tone>> = { allow: 'good', ask: 'warn', deny: 'bad' };

export function VerdictChip({ verdict }: { verdict: string }) {
  return <Chip tone={VERDICT_TONES[verdict] ?? 'plain'}>{verdict}</Chip>;
}

/** Nothing if there is no error. */
export function ErrorBox({ error }: { error: ErrorValue | undefined }) {
  if (error === undefined) return null;
  return (
    <div class="box bad" role="alert">
      <strong>{error.code}</strong> <span class="prose">{error.message}</span>
      {error.hint !== undefined && <p class="note">{error.hint}</p>}
    </div>
  );
}

/** What a fetch returned, also if a later one failed, and why one did not. */
export function Fetched<T>({ task, children }: { task: Task<T>; children: (value: T) => ComponentChildren }) {
  const { value, error } = task;
  return (
    <>
      <ErrorBox error={error.value} />
      {value.value !== undefined ? children(value.value) : error.value === undefined && <Empty>Loading …</Empty>}
    </>
  );
}

/** A button, disabled while its task runs. */
export function Button({
  task,
  ...props
}: ComponentProps<'button'> & { readonly task?: Pick<Task<unknown>, 'isBusy'> }) {
  return <button type="button" disabled={task?.isBusy.value} {...props} />;
}

type ToggleProps = ComponentProps<'button'> & { readonly choice: Signal; readonly to: unknown };

/** One of several buttons, of which one is pressed. */
export function Toggle({ choice, to, ...props }: ToggleProps) {
  const press = (): void => {
    choice.value = to;
  };
  return <Button {...props} aria-pressed={choice.value === to} onClick={press} />;
}

/** A text or JSON value, as it is. */
export function Code({ value, label }: { value: unknown; label: string }) {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  return (
    <section aria-label={label}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0}>{text}</pre>
    </section>
  );
}

export function Diff({ lines }: { lines: readonly string[] }) {
  const tones: Readonly<Record<string, string>> = { '+': 'added', '-': 'removed' };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <pre class="diff" tabIndex={0}>
      {lines.map((line, index) => (
        <span key={index} class={tones[line[0] ?? ''] ?? ''}>
          {`${line}\n`}
        </span>
      ))}
    </pre>
  );
}

export function PositionText({ position }: { position: Position | { file: string; line: number } }) {
  return <code class="position">{position.line === null ? position.file : `${position.file}:${position.line}`}</code>;
}

/** Rows of labels and values; absent values are left out. */
export function Facts({ rows }: { rows: readonly (readonly [string, ComponentChildren])[] }) {
  const shown = rows.filter(([, value]) => value !== undefined && value !== null && value !== '');
  return (
    <dl class="facts">
      {shown.map(([label, value], index) => (
        <div key={index}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

type TextInputProps = ComponentProps<'input'> & { readonly label: string; readonly text: Signal<string> };

/** A field whose text is kept in a signal. */
export function TextInput({ label, text, ...rest }: TextInputProps) {
  return (
    <input
      type="text"
      {...rest}
      aria-label={label}
      value={text.value}
      onInput={(event) => {
        text.value = event.currentTarget.value;
      }}
    />
  );
}

/** A checkbox whose state is kept in a signal. */
export function Switch({ label, isOn }: { label: string; isOn: Signal<boolean> }) {
  return (
    <label class="note toggle">
      <input
        type="checkbox"
        checked={isOn.value}
        onChange={(event) => {
          isOn.value = event.currentTarget.checked;
        }}
      />
      {label}
    </label>
  );
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly choice: Signal<T>;
  /** Texts by value. */
  readonly texts: Readonly<Record<T, string>>;
  readonly onChange?: () => void;
}

/** A choice that is kept in a signal. */
export function Choice<T extends string>({ label, choice, texts, onChange }: ChoiceProps<T>) {
  return (
    <select
      aria-label={label}
      title={label}
      value={choice.value}
      onChange={(event) => {
        choice.value = event.currentTarget.value as T;
        onChange?.();
      }}
    >
      {Object.entries<string>(texts).map(([entry, text]) => (
        <option key={entry} value={entry}>
          {text}
        </option>
      ))}
    </select>
  );
}
