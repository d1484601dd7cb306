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

  constructor(private listener: Listener) {
    listener.connection("connecting", "");
    this.listen();
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

  private listen(): void {
    const stream = new EventSource(this.address("api/changes"));
    stream.addEventListener("runs", (event) => {
      this.failures = 0;
      const news = JSON.parse((event as MessageEvent<string>).data) as { id: string; stamp: string }[];
      this.stamps = new Map(news.map(({ id, stamp }) => [id, stamp]));
      this.listener.connection("live", "");
      void this.fetchReport();
    });
    stream.addEventListener("error", () => {
      stream.close();
      this.lost();
    });
  }

  private lost(): void {
    const wait = retrySeconds[Math.min(this.failures++, retrySeconds.length - 1)];
    this.listener.connection("lost", `The connection to sadam serve is lost. Trying again every ${wait} s.`);
    setTimeout(() => this.listen(), 1000 * wait);
  }

  /** One request at a time; what changes meanwhile is asked for afterwards. */
  private async fetchReport(): Promise<void> {
    if (this.asking) {
      this.askAgain = true;
      return;
    }
    this.asking = true;
    try {
      do {
        this.askAgain = false;
        const answer = await fetch(this.address("api/report"), { cache: "no-store" });
        if (!answer.ok) throw new Error(await answer.text());
        this.listener.report((await answer.json()) as Report);
        this.fetchRuns();
      } while (this.askAgain);
    } catch {
      // The stream notices a server that is gone; one that is there says more with the next change.
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
