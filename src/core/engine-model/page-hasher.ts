/** Pages of one prompt that follow each other, and the chain they go on from. */
export interface PageRun {
  readonly tokens: Int32Array;
  /** Index of the first page's first token. */
  readonly from: number;
  readonly pages: number;
  readonly pageSize: number;
  /** The digest of the page before, or a namespace's seed. */
  readonly parent: Uint8Array;
}

/** How the engine names its pages. Given to the model, so that core needs no hash of its own and a simulation may take a cheap one. */
export interface PageHasher {
  /** Bytes of one page's digest, at least 8. */
  readonly digestBytes: number;
  /** What the first page of a chain goes on from; may be empty. */
  seed(salt: string | null): Uint8Array;
  /** One digest a page, one after the other. */
  hashRun(run: PageRun): Uint8Array;
}
