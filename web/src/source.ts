// Where the data comes from: from the page itself, or from the program that serves it, which keeps it up to date.

import type { Details, Report, Run } from "./data";

export type Connection = "file" | "connecting" | "live" | "lost";

export interface Listener {
  report(report: Report): void;
  details(id: string, details: Details | null): void;
  connection(connection: Connection, problem: string): void;
}

export interface Source {
  /** Asks for the details of these runs, now and whenever they change. */
  want(ids: string[]): void;
}

export function openSource(listener: Listener): Source {
  const report = JSON.parse(document.getElementById("sadam-data")?.textContent ?? "null") as Report | null;
  return report === null ? new Server(listener) : new Embedded(report, listener);
}

class Embedded implements Source {
  constructor(report: Report, listener: Listener) {
    listener.connection("file", "");
    listener.report(report);
    for (const run of report.runs) listener.details(run.id, run.details);
  }
  want(): void {}
}

const retrySeconds = [1, 2, 5];
const atOnce = 4; // requests for runs

class Server implements Source {
  private stamps = new Map<string, string>(); // of the runs that are there
  private fetched = new Map<string, string>(); // the stamp that we have the details of
  private wanted = new Set<string>();
  private underway = new Set<string>();
  private failures = 0;
  private asking = false;
  private askAgain = false;
  private stream: EventSource | null = null;
  private retry = 0;

  constructor(private listener: Listener) {
    document.addEventListener("visibilitychange", () => (document.hidden ? this.rest() : this.connect()));
    void this.connect();
  }

  want(ids: string[]): void {
    this.wanted = new Set(ids);
    this.fetchRuns();
  }

  private address(path: string, query: Record<string, string> = {}): string {
    const address = new URL(path, document.baseURI);
    address.search = "";
    const token = new URLSearchParams(location.search).get("token");
    if (token !== null) address.searchParams.set("token", token);
    for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value);
    return address.href;
  }

  /** The report first: the stream keeps a connection, of which a browser allows six a server. */
  private async connect(): Promise<void> {
    this.rest();
    this.listener.connection("connecting", "");
    if (!(await this.fetchReport())) return this.lost();
    if (!document.hidden && !this.stream) this.listen();
  }

  /** A page that nobody sees leaves its connection to others. */
  private rest(): void {
    clearTimeout(this.retry);
    this.stream?.close();
    this.stream = null;
  }

  private listen(): void {
    const stream = (this.stream = new EventSource(this.address("api/changes")));
    stream.addEventListener("runs", (event) => {
      this.failures = 0;
      this.listener.connection("live", "");
      const news = JSON.parse((event as MessageEvent<string>).data) as Pick<Run, "id" | "stamp">[];
      // The first says what the report said, unless something has changed since.
      const known =
        news.length === this.stamps.size && news.every(({ id, stamp }) => this.stamps.get(id) === stamp);
      if (!known) void this.fetchReport();
    });
    stream.addEventListener("error", () => {
      if (stream === this.stream) this.lost();
    });
  }

  private lost(): void {
    this.rest();
    const wait = retrySeconds[Math.min(this.failures++, retrySeconds.length - 1)];
    this.listener.connection("lost", `The connection to sadam serve is lost. Trying again every ${wait} s.`);
    if (!document.hidden) this.retry = window.setTimeout(() => this.connect(), 1000 * wait);
  }

  /** One request at a time; what changes meanwhile is asked for afterwards. Says whether the server answered. */
  private async fetchReport(): Promise<boolean> {
    if (this.asking) return (this.askAgain = true);
    this.asking = true;
    try {
      do {
        this.askAgain = false;
        const answer = await fetch(this.address("api/report"), { cache: "no-store" });
        if (!answer.ok) throw new Error(await answer.text());
        const report = (await answer.json()) as Report;
        this.stamps = new Map(report.runs.map(({ id, stamp }) => [id, stamp]));
        this.listener.report(report);
        this.fetchRuns();
      } while (this.askAgain);
      return true;
    } catch {
      return false;
    } finally {
      this.asking = false;
    }
  }

  private fetchRuns(): void {
    for (const id of this.wanted) {
      const stamp = this.stamps.get(id);
      if (this.underway.size >= atOnce) return;
      if (stamp === undefined || this.underway.has(id) || this.fetched.get(id) === stamp) continue;
      void this.fetchRun(id, stamp);
    }
  }

  private async fetchRun(id: string, stamp: string): Promise<void> {
    this.underway.add(id);
    try {
      const answer = await fetch(this.address("api/run", { id }), { cache: "no-store" });
      if (answer.ok) this.listener.details(id, ((await answer.json()) as Run).details);
      // A run that is gone, or cannot be read, is asked for again when it changes.
      this.fetched.set(id, stamp);
    } catch {
      // As for the report.
    } finally {
      this.underway.delete(id);
      if (this.fetched.get(id) === stamp) this.fetchRuns();
    }
  }
}
