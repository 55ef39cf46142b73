import type { ComparedCount } from '../../ports/prompt-tokens.ts';

/** So many of the last counts must differ before a pool's tokenizer is done without. */
const differing = 3;
const remembered = 64;

/** Whether a tokenizer's counts are those of its pool's engines, by the last ones that were compared. */
export class CountComparison {
  readonly #differ: boolean[] = [];

  /** True: with this one it is enough, the tokenizer is not the engines'. */
  add({ ours, engines }: ComparedCount): boolean {
    this.#differ.push(ours !== engines);
    if (this.#differ.length > remembered) this.#differ.shift();
    return this.#differ.filter(Boolean).length >= differing;
  }
}

/** Why the counts of one prompt may differ, for whoever reads the log. `directory` null: the engine's own tokenizer made ours. */
export function likelyCause({ ours, engines }: ComparedCount, { directory, contextLength }: { readonly directory: string | null; readonly contextLength: number | null }): string {
  if (contextLength !== null && engines < ours && engines >= contextLength - 1) return 'the engine cut the prompt to its context length';
  if (directory === null) return 'the engine makes another prompt than its own tokenize endpoint: images, or a template of the server\'s';
  if (Math.abs(ours - engines) === 1) return `one side alone puts a token around the text: compare tokenizer_config.json in ${directory} with the engine's`;
  return `another tokenizer or chat template: compare ${directory} with the folder that the engine serves`;
}
