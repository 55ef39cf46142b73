import { isAbsolute } from 'node:path';
import type { PoolId } from '../../core/identity/ids.ts';
import { messageOf, RouterError } from '../../core/router-error.ts';
import type { Closable } from '../../ports/kv-bus.ts';
import type { Log } from '../../ports/log.ts';
import type { ComparedCount } from '../../ports/prompt-tokens.ts';
import type { Fields } from './chat-fields.ts';
import { CountComparison, likelyCause } from './count-comparison.ts';
import type { TextTokenizer } from './text-tokenizer.ts';

/** What of a pool says with which tokenizer its prompts are made. */
export interface ServedModel {
  /** Where its engines have their tokenizer; null where they don't say. */
  readonly tokenizerPath: string | null;
  readonly contextLength: number | null;
  /** Other engines have another: what was learnt of a tokenizer is forgotten with it. */
  readonly engines: string;
}

/** A model's own tokenizer, and how it has fared. */
export interface OpenedModel extends TextTokenizer, Closable {
  readonly deaths: number;
  readonly refused: number;
}

export interface PoolTokenizersDeps {
  /** By way of the engines. */
  readonly engines: TextTokenizer;
  /** Rejects with `bad-config` where the folder has no tokenizer. */
  readonly open: (directory: string) => Promise<OpenedModel>;
  readonly modelOf: (pool: PoolId) => ServedModel | null;
  readonly log: Log;
}

interface PoolCounts {
  readonly engines: string;
  readonly comparison: CountComparison;
  differs: boolean;
}

/** Folders at once; the pools of one router are few. */
const maxModels = 16;

/** For each pool the model's own tokenizer where its files are here and its counts are the engines', else the engines' own. */
export class PoolTokenizers implements TextTokenizer, Closable {
  readonly #deps: PoolTokenizersDeps;
  /** For all pools, whatever their engines say; null: as they say. */
  readonly #given: string | null;
  readonly #models = new Map<string, Promise<OpenedModel | null>>();
  readonly #opened: OpenedModel[] = [];
  readonly #counts = new Map<PoolId, PoolCounts>();
  /** Prompts that were asked of the engines since the model's own tokenizer could not make them. */
  #leftToEngines = 0;
  /** Pools whose tokenizer was given up for its counts. */
  #givenUp = 0;

  constructor(deps: PoolTokenizersDeps, given: string | null) {
    this.#deps = deps;
    this.#given = given;
  }

  get counters(): Readonly<Record<string, number>> {
    const sum = (of: (model: OpenedModel) => number): number => this.#opened.reduce((total, model) => total + of(model), 0);
    return { tokenizerThreadDeaths: sum(({ deaths }) => deaths), tokenizerOverrun: sum(({ refused }) => refused), tokenizerLeftToEngines: this.#leftToEngines, tokenizersGivenUp: this.#givenUp };
  }

  /** Rejects with `bad-config` where the folder that was given has no tokenizer. */
  async load(): Promise<void> {
    if (this.#given === null) return;
    const model = await this.#deps.open(this.#given);
    this.#opened.push(model);
    this.#models.set(this.#given, Promise.resolve(model));
  }

  ofText(pool: PoolId, text: string, fields: Fields, signal: AbortSignal): Promise<ArrayLike<number>> {
    return this.#tokens(pool, (tokenizer) => tokenizer.ofText(pool, text, fields, signal));
  }

  ofChat(pool: PoolId, fields: Fields, signal: AbortSignal): Promise<ArrayLike<number>> {
    return this.#tokens(pool, (tokenizer) => tokenizer.ofChat(pool, fields, signal));
  }

  /** An engine has counted a prompt's tokens: once several differ, that pool's engines are asked from then on. */
  counted(compared: ComparedCount): void {
    const model = this.#deps.modelOf(compared.pool);
    if (model === null) return;
    const counts = this.#countsOf(compared.pool, model);
    const directory = counts.differs ? null : this.#directoryOf(model);
    const enough = counts.comparison.add(compared);
    if (compared.ours === compared.engines) return;
    this.#deps.log.warn({ ...compared, likely: likelyCause(compared, { directory, contextLength: model.contextLength }) }, 'token-counts-differ');
    if (!enough || directory === null) return;
    counts.differs = true;
    this.#givenUp++;
    this.#deps.log.error({ pool: compared.pool, directory }, 'tokenizer-given-up');
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#models.values());
    await Promise.all(this.#opened.splice(0).map((model) => model.close()));
  }

  async #tokens(pool: PoolId, ask: (tokenizer: TextTokenizer) => Promise<ArrayLike<number>>): Promise<ArrayLike<number>> {
    const model = await this.#modelFor(pool);
    if (model === null) return await ask(this.#deps.engines);
    try {
      return await ask(model);
    } catch (error) {
      if (!(error instanceof RouterError) || error.code !== 'bad-request') throw error;
      // What can't be rendered here the engine may render, or refuse in its own words.
      this.#leftToEngines++;
      return await ask(this.#deps.engines);
    }
  }

  async #modelFor(pool: PoolId): Promise<OpenedModel | null> {
    const served = this.#deps.modelOf(pool);
    if (served === null || this.#countsOf(pool, served).differs) return null;
    const directory = this.#directoryOf(served);
    if (directory === null) return null;
    const known = this.#models.get(directory);
    if (known !== undefined) return await known;
    if (this.#models.size >= maxModels) return null;
    const opening = this.#opening(directory);
    this.#models.set(directory, opening);
    return await opening;
  }

  /** A folder that a worker names need not be here: then its engine is asked, now and later. */
  async #opening(directory: string): Promise<OpenedModel | null> {
    try {
      const model = await this.#deps.open(directory);
      this.#opened.push(model);
      return model;
    } catch (error) {
      this.#deps.log.info({ directory, error: messageOf(error) }, 'tokenizer-not-here');
      return null;
    }
  }

  #directoryOf({ tokenizerPath }: ServedModel): string | null {
    return this.#given ?? (tokenizerPath !== null && isAbsolute(tokenizerPath) ? tokenizerPath : null);
  }

  #countsOf(pool: PoolId, { engines }: ServedModel): PoolCounts {
    const known = this.#counts.get(pool);
    if (known?.engines === engines) return known;
    for (const other of this.#counts.keys()) if (this.#deps.modelOf(other) === null) this.#counts.delete(other);
    const counts: PoolCounts = { engines, comparison: new CountComparison(), differs: false };
    this.#counts.set(pool, counts);
    return counts;
  }
}
