import { RouterError } from '../router-error.ts';

/** How pages and blocks fit: either some pages make a block, or a page makes some blocks. */
export interface PageShape {
  readonly pageSize: number;
  readonly blockSize: number;
  readonly pagesPerBlock: number;
  readonly blocksPerPage: number;
}

/** Throws `bad-config` where neither size is a multiple of the other, and names both. */
export function pageShape(pageSize: number, blockSize: number): PageShape {
  for (const size of [pageSize, blockSize]) {
    if (!Number.isInteger(size) || size < 1 || size > 65_535) throw new RouterError('bad-config', `a page or block of ${size} tokens can't be: give a whole number from 1 to 65535`);
  }
  const shape = { pageSize, blockSize };
  if (blockSize % pageSize === 0) return { ...shape, pagesPerBlock: blockSize / pageSize, blocksPerPage: 1 };
  if (pageSize % blockSize === 0) return { ...shape, pagesPerBlock: 1, blocksPerPage: pageSize / blockSize };
  throw new RouterError('bad-config', `the engine's pages have ${pageSize} tokens, the pool's blocks ${blockSize}: one must be a multiple of the other, start with a --block-size that fits`);
}
