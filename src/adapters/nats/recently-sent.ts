/** The last messages that were sent, in order, for as long as it is in doubt whether the server has them. */
export class RecentlySent<Message> {
  readonly #doubtfulMs: number;
  readonly #most: number;
  #sent: { readonly message: Message; readonly atMs: number }[] = [];

  /** Of more than `most` messages the oldest are taken to be safe. */
  constructor({ doubtfulMs, most }: { readonly doubtfulMs: number; readonly most: number }) {
    this.#doubtfulMs = doubtfulMs;
    this.#most = most;
  }

  add(message: Message, nowMs: number): void {
    this.#sent.push({ message, atMs: nowMs });
    // Twice as many before half of them go, so that one costs no more than its own push.
    if (this.#sent.length >= 2 * this.#most) this.#sent = this.#sent.slice(-this.#most);
  }

  /** Those in doubt, the oldest first; they are not kept any longer. */
  take(nowMs: number): readonly Message[] {
    const doubtful = this.#sent.filter(({ atMs }) => nowMs - atMs <= this.#doubtfulMs).slice(-this.#most);
    this.#sent = [];
    return doubtful.map(({ message }) => message);
  }
}
