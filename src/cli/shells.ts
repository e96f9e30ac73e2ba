// Completion scripts of shells, and the format of their answers.

import type { Completion } from '../commands/complete.js';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

export function isShell(text: string | undefined): text is Shell {
  return (SHELLS as readonly string[]).includes(text ?? '');
}

// Each runs `wield __complete`, whose first line says whether files are offered; the other lines are candidates. No
// script evaluates what was typed.
export const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `# wield completions for bash; add to ~/.bashrc: source <(wield completions bash)
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
# wield completions for zsh; add to ~/.zshrc, after compinit: source <(wield completions zsh)
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
  fish: `# wield completions for fish; to install: wield completions fish > ~/.config/fish/completions/wield.fish
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

export type Line = ReturnType<typeof splitLine>;

/**
 * Splits a line up to the cursor as bash does, without expansion: words without quotes, the unfinished last word with its
 * open quote, and the length of the part of it that the shell does not replace.
 */
export function splitLine(line: string, breaks: string) {
  const words: string[] = [];
  let word: string | undefined;
  let quote: '"' | "'" | '' = '';
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
      // Bash replaces only the text after a word break.
      if (quote === '' && breaks.includes(character)) kept = word.length;
    }
  }
  return { words, current: word ?? '', quote, kept };
}

/** Formats a completion for a shell; candidates are quoted if the line of bash is given. */
export function formatAnswer({ candidates, files }: Completion, line?: Line): string {
  // Control characters would break the line format.
  const plain = candidates.filter((one) => !/[\u0000-\u001f\u007f]/.test(one.value));
  const lines = plain.map(({ value, description }) => {
    if (line !== undefined) return forBash(value, line);
    // zsh and fish quote candidates themselves.
    return description === '' ? value : `${value}\t${description}`;
  });
  return `${[files ? 'files' : 'words', ...lines].join('\n')}\n`;
}

function forBash(value: string, { quote, kept }: Line): string {
  const text = value.slice(kept);
  if (quote === '"') return text.replace(/[\\"$`]/g, '\\$&');
  if (quote === "'") return text.replace(/'/g, `'\\''`);
  return text.replace(/[^\p{L}\p{N}_@%+=:,./-]/gu, '\\$&');
}
