// A mock web and a daemon that crawls it.

import { spawn, execFile } from "node:child_process";
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, request as ask } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { attacking, hostile } from "./hostile.js";
import { pictured } from "./looks-site.js";

const run = promisify(execFile);

/** Folder of the built programs. */
const BUILT = process.env.RECRAWL_BUILT ?? fileURLToPath(new URL("../../target/debug", import.meta.url));
export const TOKEN = "0123456789abcdef0123456789abcdef";
/** Milliseconds to wait for a state of the crawl. */
const PATIENCE = 120_000;

/** With these settings a cycle selects half of its pages by score and has enough visits of each kind. */
const SETTINGS = (folder, politeness, period) => `
[cycle]
period = "${period}"
pages = "40%"
pages_min = 1
warmup = 1
discovery_min = 1000000
audit_share = 0.2
[schedule]
formula = "p_burst"
[politeness]
delay_per_ip = "0 ms"
delay_per_latency = 0.0
${politeness}
[fetch]
allow_addresses = ["127.0.0.0/8"]
connections = 8
connect_timeout = "1 s"
timeout = "2 s"
[storage]
reserve = "1 MiB"
[serve]
listen = "127.0.0.1:0"
requests = 1000
tokens = "${join(folder, "tokens")}"
[[deliver]]
name = "search"
to = "index"
`;

/** Starts everything: some cycles are done, and the next one is about to start. */
export async function world() {
  const folder = await mkdtemp(join(tmpdir(), "recrawl-browser-"));
  const site = await hostile();
  const web = await mockWeb(FAILING);
  const [config, seeds] = ["recrawl.toml", "seeds.txt"].map((name) => join(folder, name));
  await writeFile(join(folder, "tokens"), `anna ${TOKEN}\n`);
  await chmod(join(folder, "tokens"), 0o600);
  await writeFile(seeds, [...web.seeds, site.url].join("\n"));
  await writeFile(config, SETTINGS(folder, 'delay_per_host = "0 s"', "1 d"));
  for (let cycle = 0; cycle < 8; cycle += 1) {
    await web.advance();
    await run(join(BUILT, "recrawl"), [
      "crawl",
      "--config",
      config,
      "--data-dir",
      join(folder, "data"),
      "--cycles",
      "1",
      "--seeds",
      seeds,
    ]);
  }
  await web.advance();
  // From here on a cycle takes a while, so that tests can observe it.
  await writeFile(config, SETTINGS(folder, 'delay_per_host = "150 ms"', "1 s"));
  let daemon = await serve(config, folder);
  return {
    ...client(daemon.origin),
    web,
    site,
    origin: daemon.origin,
    /** Another daemon with an empty crawl. */
    newDaemon: () => serve(config, folder, "new"),
    /** A daemon with an empty crawl and without tokens. */
    openDaemon: async () => {
      const open = join(folder, "open.toml");
      await writeFile(open, (await readFile(config, "utf8")).replace(/tokens = .*/, ""));
      return serve(open, folder, "open");
    },
    stopDaemon: () => daemon.stop(),
    restartDaemon: async () => {
      // At the same address, because the page reconnects there.
      const text = await readFile(config, "utf8");
      await writeFile(config, text.replace("127.0.0.1:0", new URL(daemon.origin).host));
      daemon = await serve(config, folder);
    },
    stop: async () => {
      await daemon.stop();
      web.stop();
      site.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A crawl that looks at all pages in turn, measures itself and tries what it has learned. One that starved some would be replaced without a trial. */
const LEARNING = (folder) => `
[cycle]
pages = "30%"
pages_min = 1
discovery_min = 1000000
discovery_share = 0
audit_share = 0.4
fill = false
[schedule]
formula = "t"
[improve]
mode = "promote"
every = 1000
min_gain = 0.0001
max_loss = 0.3
trial_sites = 20
shadow_cycles = 4
before_cycles = 3
settling_cycles = 1
trial_cycles = 20
[politeness]
delay_per_host = "0 s"
delay_per_ip = "0 ms"
delay_per_latency = 0.0
[fetch]
allow_addresses = ["127.0.0.0/8"]
connections = 8
validator_checks = 0
[storage]
reserve = "1 MiB"
[serve]
listen = "127.0.0.1:0"
requests = 1000
tokens = "${join(folder, "tokens")}"
`;

/** Two daemons of one crawl: at the shadow run of a candidate, and at its trial. Both wait for their next cycle. */
export async function improving() {
  const folder = await mkdtemp(join(tmpdir(), "recrawl-browser-"));
  const web = await mockWeb(LEARNABLE);
  const [config, seeds] = ["recrawl.toml", "seeds.txt"].map((name) => join(folder, name));
  await writeFile(join(folder, "tokens"), `anna ${TOKEN}\n`);
  await chmod(join(folder, "tokens"), 0o600);
  await writeFile(seeds, web.seeds.join("\n"));
  await writeFile(config, LEARNING(folder));
  const recrawl = (...words) =>
    run(join(BUILT, "recrawl"), [...words, "--config", config, "--data-dir", join(folder, "data")]);
  const cycles = async (number) => {
    for (let cycle = 0; cycle < number; cycle += 1) {
      await web.advance();
      await recrawl("crawl", "--cycles", "1", "--seeds", seeds);
    }
  };
  await cycles(20);
  await recrawl("improve", "run", "--cpu", "5 s", "--threads", "1");
  await cycles(3);
  await cp(join(folder, "data"), join(folder, "shadow"), { recursive: true });
  await cycles(10);
  const daemons = await Promise.all(["shadow", "data"].map((data) => serve(config, folder, data)));
  const [shadow, trial] = daemons.map(({ origin }) => ({ origin, ...client(origin) }));
  return {
    shadow,
    trial,
    stop: ending(folder, web, ...daemons),
  };
}

/** A crawl that looks for syllabi and knows the whole web but for what it has no reason to visit. */
const FOCUSED = (folder) => `
[cycle]
pages_min = 1
discovery_share = 0
discovery_min = 0
audit_share = 0
fill_pages = 500
[focus]
enabled = true
terms = "${join(folder, "terms.toml")}"
threshold = 0.75
target_recall = 1
site_patience = 10
[politeness]
delay_per_host = "0 s"
delay_per_ip = "0 ms"
delay_per_latency = 0.0
[fetch]
allow_addresses = ["127.0.0.0/8"]
connections = 8
[storage]
reserve = "1 MiB"
[serve]
listen = "127.0.0.1:0"
requests = 1000
`;

const TERMS = `genre = ["syllabus", "grading", "homework", "lecture", "midterm exam"]
content = ["database", "sql", "transaction", "relational model"]
`;

/** A daemon of a focused crawl that waits for its next cycle. */
export async function focused() {
  const folder = await mkdtemp(join(tmpdir(), "recrawl-browser-"));
  const web = await mockWeb(["--pages", "1500", "--hosts", "12", "--page-bytes", "1500", "--syllabi", "0.05"]);
  const [config, seeds] = ["recrawl.toml", "seeds.txt"].map((name) => join(folder, name));
  await writeFile(join(folder, "terms.toml"), TERMS);
  await writeFile(seeds, web.seeds.join("\n"));
  await writeFile(config, FOCUSED(folder));
  const words = ["crawl", "--until", "filled", "--config", config, "--data-dir", join(folder, "data"), "--seeds", seeds];
  await run(join(BUILT, "recrawl"), words);
  const daemon = await serve(config, folder);
  return {
    ...client(daemon.origin),
    origin: daemon.origin,
    stop: ending(folder, web, daemon),
  };
}

/** A crawl whose archive is exported: the WACZ file and its pages, and the web in the state in which it was crawled. */
export async function exported() {
  const folder = await mkdtemp(join(tmpdir(), "recrawl-browser-"));
  const web = await mockWeb(["--pages", "60", "--hosts", "2", "--page-bytes", "4000"]);
  const [config, seeds, wacz] = ["recrawl.toml", "seeds.txt", "archive.wacz"].map((name) => join(folder, name));
  await writeFile(seeds, web.seeds.join("\n"));
  // The last cycle sees each page as the web has it at the end.
  const settings = SETTINGS(folder, 'delay_per_host = "0 s"', "1 d").replace('"40%"', '"100%"');
  await writeFile(config, settings.replace("[storage]", "[storage]\narchive_requests = true"));
  const recrawl = async (...words) =>
    (await run(join(BUILT, "recrawl"), [...words, "--config", config, "--data-dir", join(folder, "data")])).stdout;
  for (let cycle = 0; cycle < 3; cycle += 1) {
    // A replay tells captures apart by the second.
    if (cycle > 0) await new Promise((resolve) => setTimeout(resolve, 1_100));
    if (cycle > 0) await web.advance();
    await recrawl("crawl", "--cycles", "1", "--seeds", seeds);
  }
  await recrawl("export", "wacz", "--out", wacz);
  const contents = (await recrawl("export", "contents", "--out", "-")).trim().split("\n").map((line) => JSON.parse(line));
  return { wacz, contents, stop: ending(folder, web) };
}

/** With these settings a cycle asks for all pages and what they need; some are read in a browser. */
const REQUISITES = (origin) => `
[scope]
include = ["${origin}/*"]
[render]
sandbox = false
[[pages]]
match = "${origin}/rendered/*"
render = true
requisites = true
[[pages]]
match = "*"
requisites = true
`;

/** A daemon whose archive has the pages of `pictured` with their requisites. `wacz` is the export, `data` its directory. */
export async function looked() {
  const folder = await mkdtemp(join(tmpdir(), "recrawl-browser-"));
  const site = await pictured();
  const [config, seeds, wacz] = ["recrawl.toml", "seeds.txt", "archive.wacz"].map((name) => join(folder, name));
  await writeFile(seeds, `${site.origin}/`);
  const settings = SETTINGS(folder, 'delay_per_host = "0 s"', "1 d").replace('"40%"', '"100%"');
  await writeFile(config, settings.replace(/tokens = .*/, "") + REQUISITES(site.origin));
  const recrawl = async (...words) =>
    (await run(join(BUILT, "recrawl"), [...words, "--config", config, "--data-dir", join(folder, "data")])).stdout;
  await recrawl("crawl", "--until", "filled", "--seeds", seeds);
  await recrawl("export", "wacz", "--out", wacz);
  const daemon = await serve(config, folder);
  return {
    ...client(daemon.origin),
    ...site,
    site: site.origin,
    origin: daemon.origin,
    wacz,
    data: join(folder, "data"),
    recrawl,
    stop: ending(folder, site, daemon),
  };
}

/** Versions that `archived` has of a page that changes at every visit. */
export const VERSIONS = 12;

/** A daemon whose archive has versions of a page that attacks whoever looks at it. */
export async function archived() {
  const folder = await mkdtemp(join(tmpdir(), "recrawl-browser-"));
  const site = await attacking();
  const [config, seeds] = ["recrawl.toml", "seeds.txt"].map((name) => join(folder, name));
  await writeFile(seeds, site.seeds.join("\n"));
  const settings = SETTINGS(folder, 'delay_per_host = "0 s"', "1 d").replace('"40%"', '"100%"');
  await writeFile(config, `${settings.replace(/tokens = .*/, "")}[scope]\ninclude = ["${site.origin}/*"]\n`);
  const recrawl = (...words) =>
    run(join(BUILT, "recrawl"), [...words, "--config", config, "--data-dir", join(folder, "data")]);
  for (let cycle = 0; cycle < VERSIONS; cycle += 1) await recrawl("crawl", "--cycles", "1", "--seeds", seeds);
  // From here on only a browser could come.
  site.trapped.length = 0;
  const daemon = await serve(config, folder);
  return {
    ...client(daemon.origin),
    ...site,
    origin: daemon.origin,
    site: site.origin,
    takeDown: (path) => recrawl("takedown", "--page", site.origin + path),
    stop: ending(folder, site, daemon),
  };
}

// One host fails often enough to be backed off (not with 503, which would slow down the host and the cycles).
// Pages of another host are missing now and then.
const FAILING = [
  "--pages",
  "240",
  "--hosts",
  "5",
  "--page-bytes",
  "1500",
  "--mix",
  "static=20,poisson=60,periodic=10,bursty=10",
  "--skew",
  "0.3",
  "--fault",
  "3/=status@0.6:500",
  "--fault",
  "5/=status@0.2:404",
];

// Sites enough to learn from half of them, and for two arms.
const LEARNABLE = ["--pages", "900", "--hosts", "40", "--page-bytes", "1500"];

async function mockWeb(kind) {
  const words = ["procedural", "--seed", "7", "--with-parent", ...kind];
  const child = spawn(join(BUILT, "recrawl-mockweb"), words, { stdio: ["pipe", "pipe", "inherit"] });
  const info = JSON.parse(await firstLine(child.stdout));
  const advance = async () => {
    const answer = await fetch(`http://127.0.0.1:${info.control_port}/advance`, { method: "POST" });
    if (!answer.ok) throw new Error(`the mock web's clock: ${answer.status} ${await answer.text()}`);
  };
  return { ...info, advance, stop: () => child.kill() };
}

/** Three processes of a fleet on loopback, each with a partition and a console; `nodes` are clients of all; `lose` ends the third as a power cut would. */
export async function fleet() {
  const folder = await mkdtemp(join(tmpdir(), "recrawl-browser-"));
  const web = await mockWeb(["--pages", "240", "--hosts", "6", "--page-bytes", "1500"]);
  const [config, seeds, store] = ["recrawl.toml", "seeds.txt", "store"].map((name) => join(folder, name));
  await mkdir(store);
  await writeFile(seeds, web.seeds.join("\n"));
  await writeFile(config, SETTINGS(folder, 'delay_per_host = "20 ms"', "2 s").replace(/tokens = .*/, ""));
  const address = `file://${store}`;
  const cuts = ["--cut", "127.1.0.3", "--cut", "127.1.0.5", "--lease", "6 s"];
  await run(join(BUILT, "recrawl"), ["fleet", "begin", address, "--config", config, ...cuts], { cwd: folder });
  const names = ["a", "b", "c"];
  const start = (name) => serve(config, folder, name, ["--fleet", address, "--name", name, "--seeds", seeds]);
  const daemons = await Promise.all(names.map(start));
  const [{ origin }, , last] = daemons;
  const nodes = Object.fromEntries(daemons.map((daemon, at) => [names[at], client(daemon.origin)]));
  return { ...nodes.a, origin, nodes, lose: () => last.stop("SIGKILL"), stop: ending(folder, web, ...daemons) };
}

async function serve(config, folder, data = "data", words = []) {
  const child = spawn(join(BUILT, "recrawl"), ["serve", "--config", config, "--data-dir", data, ...words], {
    cwd: folder,
    stdio: ["ignore", "ignore", "pipe"],
  });
  // The daemon ends with the tests.
  process.on("exit", () => child.kill("SIGKILL"));
  const said = [];
  const origin = await new Promise((resolve, reject) => {
    createInterface({ input: child.stderr }).on("line", (line) => {
      said.push(line);
      const found = /the console is at (http:\/\/[^/]+)\//.exec(line);
      if (found) resolve(found[1]);
    });
    child.on("exit", (code) => reject(new Error(`recrawl serve ended with ${code}:\n${said.join("\n")}`)));
  });
  const stop = (signal = "SIGTERM") =>
    new Promise((resolve) => {
      if (child.exitCode !== null || child.signalCode !== null) return resolve();
      child.on("exit", resolve);
      child.kill(signal);
    });
  /** The one-time link in the log. */
  const link = async () => {
    for (;;) {
      const found = said.map((line) => /open (http:\S+#\/login\?secret=\S+)/.exec(line)?.[1]).filter(Boolean);
      if (found.length > 0) return found.at(-1);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  return { origin, link, stop };
}

/** A proxy that serves `origin` at `/watch/`, and passes on the `Host`. */
export async function proxy(origin) {
  const server = createServer((request, response) => {
    const { hostname, port } = new URL(origin);
    const path = request.url.replace(/^\/watch/, "");
    const asked = ask({ hostname, port, path, method: request.method, headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    asked.on("error", () => response.destroy());
    response.on("close", () => asked.destroy());
    request.pipe(asked);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { origin: `http://127.0.0.1:${server.address().port}`, stop: () => (server.closeAllConnections(), server.close()) };
}

/** Ends daemons and their web, and removes their folder. */
const ending = (folder, web, ...daemons) => async () => {
  await Promise.all(daemons.map((daemon) => daemon.stop()));
  web.stop();
  await rm(folder, { recursive: true, force: true });
};

function firstLine(stream) {
  return new Promise((resolve, reject) => {
    createInterface({ input: stream }).once("line", resolve);
    stream.once("end", () => reject(new Error("it ended without output")));
  });
}

/** A client of the API. */
function client(origin) {
  const ask = async (method, path, body) => {
    const answer = await fetch(origin + path, {
      method,
      headers: { Authorization: `Bearer ${TOKEN}`, "Content-Type": "application/json" },
      body: body && JSON.stringify(body),
    });
    const document = await answer.json();
    if (!answer.ok) throw new Error(`${method} ${path}: ${JSON.stringify(document)}`);
    return document;
  };
  const get = (path) => ask("GET", path);
  const until = async (what, so) => {
    const begun = Date.now();
    for (;;) {
      const status = await get("/api/v1/status");
      if (so(status)) return status;
      if (Date.now() - begun > PATIENCE) throw new Error(`not ${what}: ${JSON.stringify(status)}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  /** Pauses the crawl in the middle of a cycle and waits until no request is in flight. */
  const hold = async () => {
    // Each figure of the cycle has a value by then.
    const isSeen = ({ changed, fetched, scheduled, done, slowest }) =>
      changed > 0 && fetched > 10 && scheduled - done > 20 && slowest.length > 0;
    // Most cycles also have failures; wait a while for one that has.
    const begun = Date.now();
    const hasFailures = ({ failed, not_found: missing }) =>
      failed + missing > 0 || Date.now() - begun > PATIENCE / 2;
    await until(
      "fetching",
      ({ cycle }) => cycle?.stage === "fetching" && isSeen(cycle) && hasFailures(cycle),
    );
    await ask("PUT", "/api/v1/pause");
    return until("paused", ({ state, cycle }) => state === "paused" && cycle?.in_flight === 0);
  };
  const post = (path, body) => ask("POST", path, body);
  return { get, post, put: (path, body) => ask("PUT", path, body), del: (path) => ask("DELETE", path), until, hold };
}
