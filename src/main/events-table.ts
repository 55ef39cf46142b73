import Table from 'cli-table3';
import type { InspectionReport } from '../app/inspect-events.ts';
import type { BatchOutcome } from '../app/inspect-rank.ts';

const style = { head: [], border: [], compact: true };

/** What one batch did, as a line. */
export function batchLine(rank: number, outcome: BatchOutcome): string {
  const { seq, verdict, storedPages, removedPages, clears, gainedBlocks, lostBlocks, heldBlocks } = outcome;
  const did = [
    storedPages > 0 ? `${storedPages} pages stored` : '',
    removedPages > 0 ? `${removedPages} pages removed` : '',
    clears > 0 ? 'cleared' : '',
  ].filter((part) => part !== '');
  const note = verdict === 'applied' ? '' : ` (${verdict})`;
  return `rank ${rank} seq ${seq}${note}: ${did.join(', ') || 'nothing'}; +${gainedBlocks} -${lostBlocks} blocks, ${heldBlocks} held`;
}

/** The state after all, and the answers, as tables for a terminal. */
export function reportText(report: InspectionReport): string {
  const { batches, events, invalid, gaps, missingBatches, epochs } = report;
  const reasons = Object.entries(report.invalidReasons).map(([reason, count]) => `${reason} ${count}`).join(', ');
  const parts = [
    `${batches} batches, ${events} events, ${invalid} invalid${reasons === '' ? '' : ` (${reasons})`}, ${gaps} gaps, ${missingBatches} batches missing, ${epochs} epochs`,
    ranksTable(report),
    ...report.ranks.filter((rank) => rank.untrusted !== null).map((rank) => `rank ${rank.rank}: ${rank.untrusted}`),
    report.queries.length === 0 ? '' : queriesTable(report),
  ];
  return parts.filter((part) => part !== '').join('\n');
}

function ranksTable({ ranks }: InspectionReport): string {
  const table = new Table({ head: ['rank', 'blocks held', 'page size', 'epochs', 'unknown removals', 'orphaned stores', 'refused stores'], style });
  for (const rank of ranks) table.push([rank.rank, rank.blocks, rank.pageSize ?? '?', rank.epochs, rank.unknownRemovals, rank.orphanedStores, rank.refusedStores]);
  return table.toString();
}

function queriesTable({ queries }: InspectionReport): string {
  const table = new Table({ head: ['query', 'tokens', 'rank', 'blocks', 'reusable', 'engine said', ''], style });
  for (const [index, query] of queries.entries()) {
    table.push([index, query.tokens, query.rank, query.blocks, query.reusableBlocks, query.engineBlocks ?? '', query.unanswerable ?? '']);
  }
  return table.toString();
}
