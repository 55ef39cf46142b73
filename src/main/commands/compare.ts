import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';
import type { CellResult } from '../../core/evidence/comparison-cell.ts';
import type { Arrival } from '../../core/evidence/comparison-plan.ts';
import { arrivals, fanOutMatrix, planCells } from '../../core/evidence/comparison-plan.ts';
import { summarizeCells } from '../../core/evidence/comparison-summary.ts';
import { placementModes } from '../../core/placement/placement.ts';
import type { PlacementMode } from '../../core/placement/placement.ts';
import { action, exitCodes, listOf, oneOf, positiveNumber, wholeNumber } from '../command-tools.ts';
import type { Comparison } from '../../app/compare.ts';
import { abortOnSignal } from '../abort-on-signal.ts';
import { compareLive } from '../compare-live.ts';
import { compareTable, explanationText, legend, widestOfEach } from '../compare-table.ts';
import { createLog, logLevels } from '../create-log.ts';
import type { LogLevel } from '../create-log.ts';
import type { EngineFlags } from '../up-flags.ts';
import { addEngineFlags, addSpeedFlag } from '../up-flags.ts';
import { upDefaults } from '../up.ts';

interface Flags extends EngineFlags {
  readonly fanOut: readonly number[];
  readonly prefix: readonly number[];
  readonly suffix: number;
  readonly workers: 'auto' | number;
  readonly modes: readonly PlacementMode[];
  readonly arrival: readonly Arrival[];
  readonly gapMs: number;
  readonly trials: number;
  readonly seed: number;
  readonly maxNewTokens: number;
  readonly json?: boolean;
  readonly logLevel: LogLevel;
  readonly speed: number;
}

const workers = (text: string): 'auto' | number => (text === 'auto' ? 'auto' : wholeNumber(1, 256)(text));

/** Flags of the design that this version does not do: refused, so that nobody takes a result for what it is not. */
/** Of the comparison's design and not there yet: refused by name instead of unknown, and not offered by --help. */
const notYet = (flags: string): Option =>
  new Option(flags).hideHelp().argParser(() => {
    throw new InvalidArgumentError('it is not built yet: leave it away.');
  });

const examples = `
Examples:
  $ kinroute compare                                           B1, B2 and C2 over fan-out 2, 4, 8 and prefix 16384, 32768
  $ kinroute compare --fan-out 4 --prefix 16384 --trials 5     one cell, five cold trials
  $ kinroute compare --modes affinity,event,least-loaded --json
Exit code 1 when a request failed.`;

export function registerCompare(program: Command): void {
  const command = program
    .command('compare')
    .description('placement modes side by side on a fan-out of sessions with one shared prefix (B1, B2, C2)')
    .option('--fan-out <list>', 'children that arrive together', listOf(wholeNumber(1, 256)), [...fanOutMatrix.fanOuts])
    .option('--prefix <list>', 'tokens that the children share', listOf(wholeNumber(1, 1_000_000)), [...fanOutMatrix.prefixes])
    .option('--suffix <tokens>', "tokens of each child's own", wholeNumber(1, 100_000), fanOutMatrix.suffixTokens)
    .option('--workers <n>', 'workers of the B rows: a number, or auto for as many as children', workers, 'auto')
    .option('--modes <list>', `modes to compare: ${placementModes.join(', ')}`, listOf(oneOf(placementModes)), [...fanOutMatrix.modes])
    .option('--arrival <list>', `how children arrive: ${arrivals.join(', ')}`, listOf(oneOf(arrivals)), [...fanOutMatrix.arrivals])
    .option('--gap-ms <ms>', 'mean time between children of staggered and poisson arrivals', positiveNumber, 100)
    .option('--trials <n>', 'trials of each cell, each with a new prefix', wholeNumber(1, 1_000), 1)
    .option('--seed <n>', 'what prompts and arrivals are drawn from', wholeNumber(0, 2 ** 31), 1)
    .option('--max-new-tokens <n>', 'length of each answer', wholeNumber(1, 100_000), 8);
  for (const flags of ['--virtual [when]', '--background-load [list]', '--busy-parent [when]']) command.addOption(notYet(flags).preset('asked'));
  addSpeedFlag(addEngineFlags(command, upDefaults))
    .option('--log-level <level>', `what goes to standard error: ${logLevels.join(', ')}`, oneOf(logLevels), 'warn')
    .option('--json', 'print cells and summary as one JSON object')
    .addHelpText('after', examples)
    .action(action(runCompare));
}

async function runCompare(flags: Flags): Promise<void> {
  const plans = planCells({
    fanOuts: flags.fanOut,
    prefixes: flags.prefix,
    suffixTokens: flags.suffix,
    workers: flags.workers,
    modes: flags.modes,
    arrivals: flags.arrival,
    trials: flags.trials,
  });
  const { pageSize, engineKvTokens, contextLength, dpSize, speed, seed, maxNewTokens, gapMs } = flags;
  const pool = { pageSize, engineKvTokens, contextLength, dpSize, speed, blockSize: flags.blockSize ?? null };
  const comparison = await compareLive(plans, { pool, seed, maxNewTokens, gapMs, signal: abortOnSignal() }, createLog('compare', flags.logLevel), progress(plans.length));
  process.stdout.write(flags.json === true ? comparisonJson(comparison) : comparisonText(comparison));
  for (const failure of comparison.failures) process.stderr.write(`kinroute: ${failure}\n`);
  if (comparison.failures.length > 0) process.exitCode = exitCodes.failed;
}

/** One line on standard error for each cell as it ends. */
export const progress =
  (cells: number) =>
  (cell: CellResult, done: number): void => {
    const what = `${cell.label} ${cell.mode}, fan-out ${cell.fanOut}, prefix ${cell.prefixTokens}, ${cell.arrival}, trial ${cell.trial + 1}`;
    process.stderr.write(`[${done}/${cells}] ${what}: selected ${cell.selectedWorkers}, copies ${cell.prefixCopies}, ${Math.round(cell.makespanMs)} ms\n`);
  };

export function comparisonJson({ cells }: Comparison): string {
  return `${JSON.stringify({ cells, summary: summarizeCells(cells) })}\n`;
}

export function comparisonText({ cells, explanations }: Comparison): string {
  return `${compareTable(summarizeCells(cells))}\n${legend}\n\nWhat the modes did and why, by the placement records of their widest row:\n${explanationText(widestOfEach(explanations))}\n`;
}
