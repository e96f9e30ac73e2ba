// The scripts that teach a shell to complete wield, and how each shell is told what fits.

import type { Candidate, Completion } from '../commands/complete.js';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

export function isShell(text: string | undefined): text is Shell {
  return (SHELLS as readonly string[]).includes(text ?? '');
}

// Each asks `wield __complete`, whose first line says whether files fit, and whose others are what fits. No script
// evaluates what was typed.
export const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `# wield completions for bash; in ~/.bashrc: source <(wield completions bash)
_wield() {
  local line kind='' reply=()
  while IFS= read -r line; do
    if [[ -z $kind ]]; then kind=$line; else reply+=("$line"); fi
  done < <(wield __complete bash "\${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
  COMPREPLY=(\${reply[@]+"\${reply[@]}"})
  if [[ $kind != files ]]; then compopt +o default 2>/dev/null; fi
}
complete -o default -F _wield wield
`,
  zsh: `#compdef wield
# wield completions for zsh; in ~/.zshrc, after compinit: source <(wield completions zsh)
_wield() {
  local -a lines values shown
  local line
  lines=("\${(@f)$(wield __complete zsh -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  for line in "\${(@)lines[2,-1]}"; do
    values+=("\${line%%$'\\t'*}")
    shown+=("\${line/$'\\t'/  -- }")
  done
  (( \${#values} )) && compadd -l -d shown -a values
  [[ \${lines[1]} == files ]] && _files
}
if [[ \${funcstack[1]} == _wield ]]; then _wield "$@"; else compdef _wield wield; fi
`,
  fish: `# wield completions for fish; to keep them: wield completions fish > ~/.config/fish/completions/wield.fish
function __wield_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l answer (wield __complete fish -- $words[2..-1] "$current" 2>/dev/null)
    if test "$answer[1]" = files
        __fish_complete_path "$current"
    end
    for line in $answer[2..-1]
        echo $line
    end
end
complete -c wield -f -a '(__wield_complete)'
`,
};

/** A command line up to the cursor: its words without quotes, and what is still open in the last of them. */
export interface Line {
  readonly words: readonly string[];
  readonly current: string;
  /** The quote that is open, if any. */
  readonly quote: '"' | "'" | '';
  /** How much of `current` stands before what the shell is about to replace. */
  readonly kept: number;
}

/** Splits a line as bash does, and expands nothing. */
export function splitLine(line: string, breaks: string): Line {
  const words: string[] = [];
  let word: string | undefined;
  let quote: Line['quote'] = '';
  let kept = 0;
  for (let at = 0; at < line.length; at++) {
    const character = line[at]!;
    if (quote === '' && /\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
      kept = 0;
      continue;
    }
    word ??= '';
    if (character === quote) {
      quote = '';
      kept = 0;
    } else if (quote === '' && (character === '"' || character === "'")) {
      quote = character;
      kept = word.length;
    } else if (character === '\\' && quote !== "'" && at + 1 < line.length) word += line[++at]!;
    else {
      word += character;
      // Where a word breaks for bash, only what follows is replaced.
      if (quote === '' && breaks.includes(character)) kept = word.length;
    }
  }
  return { words, current: word ?? '', quote, kept };
}

/** What a shell reads: whether files fit, then a line for each candidate; quoted for bash where its line is given. */
export function formatAnswer({ candidates, files }: Completion, line?: Line): string {
  // A value with a control character cannot be typed on a line, and would end the line here.
  const plain = candidates.filter((one) => !/[\u0000-\u001f\u007f]/.test(one.value));
  const lines = plain.map((one) => (line ? forBash(one, line) : forOthers(one)));
  return `${[files ? 'files' : 'words', ...lines].join('\n')}\n`;
}

function forBash({ value }: Candidate, { quote, kept }: Line): string {
  const text = value.slice(kept);
  if (quote === '"') return text.replace(/[\\"$`]/g, '\\$&');
  if (quote === "'") return text.replace(/'/g, `'\\''`);
  return text.replace(/[^\p{L}\p{N}_@%+=:,./-]/gu, '\\$&');
}

// These shells quote by themselves.
function forOthers({ value, description }: Candidate): string {
  return description === '' ? value : `${value}\t${description}`;
}
