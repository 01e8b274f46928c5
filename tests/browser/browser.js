// Chromium, and a page of the dashboard that is watched for what must never happen.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium";
// Root has no sandbox in a container, and the pages are our own.
const WORDS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--no-first-run",
  "--disable-dev-shm-usage",
];
/** A figure that is not there by then does not come, however busy the machine is. */
const PATIENCE = 60_000;

/** The dashboard's files from a folder, with the headers of the program's, so that they can be changed without building it anew. */
const DASHBOARD = process.env.RECRAWL_DASHBOARD;
const TYPES = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

async function fromFolder(route) {
  const { origin, pathname } = new URL(route.request().url());
  const name = pathname === "/" ? "index.html" : pathname.split("/").at(-1);
  try {
    const headers = (await route.fetch({ url: `${origin}/` })).headers();
    await route.fulfill({
      headers: { ...headers, "content-type": TYPES[name.split(".").at(-1)] },
      body: await readFile(join(DASHBOARD, name)),
    });
  } catch {
    await route.abort();
  }
}

/** Starts it with a profile of its own, which is empty. */
export async function browser() {
  const profile = await mkdtemp(join(tmpdir(), "recrawl-chromium-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: EXECUTABLE,
    args: WORDS,
    headless: true,
    viewport: { width: 1280, height: 900 },
  });
  context.setDefaultTimeout(PATIENCE);
  if (DASHBOARD) await context.route(/:\d+\/(assets\/[^/]+)?(#.*)?$/, fromFolder);
  return {
    context,
    close: async () => {
      await context.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}

/** What the browser says of an answer with such a status. */
const REFUSED = (status) => new RegExp(`^Failed to load resource: the server responded with a status of ${status} \\(`);

/** Opens a view, and keeps account of errors and of whom it asks. `expected` are errors that the test provokes: the status of
 *  an answer, which must come, or a pattern of what may. */
export async function open(context, origin, hash, { width = 1280, height = 900, expected = [] } = {}) {
  const page = await context.newPage();
  await page.setViewportSize({ width, height });
  const [errors, asked, awaited] = [[], new Set(), new Set(expected.filter(Number.isInteger))];
  page.on("console", (message) => {
    if (!["error", "warning"].includes(message.type())) return;
    const matches = (error) => (Number.isInteger(error) ? REFUSED(error) : error).test(message.text());
    const foreseen = expected.filter(matches);
    if (foreseen.length === 0) errors.push(message.text());
    foreseen.forEach((error) => awaited.delete(error));
  });
  page.on("pageerror", (error) => errors.push(String(error.stack ?? error)));
  page.on("request", (request) => asked.add(new URL(request.url()).origin));
  await page.goto(`${origin}/${hash}`);
  await page.locator("#state:not(:text('connecting'))").waitFor();
  const done = async () => {
    assert.deepEqual(errors, [], "no error in the console");
    assert.deepEqual([...awaited], [], "what was provoked came");
    assert.deepEqual([...asked], [origin], "nobody else was asked");
    assert.equal(await page.evaluate(() => window.hostile), undefined, "no text of the crawl was run");
    await page.close();
  };
  return { page, done };
}

/** The text of a figure. */
export const figure = (page, key) => page.locator(`[data-figure="${key}"]`).first();

/** Waits until a figure says so. */
export async function says(page, key, text, patience) {
  await retry(async () => assert.equal((await figure(page, key).textContent())?.trim(), text, key), patience);
}

/** Waits for a cycle end with it, which takes seconds. */
export const CYCLES = 120_000;

/** Tries until it holds. */
export async function retry(check, patience = PATIENCE) {
  const begun = Date.now();
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() - begun > patience) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** Types the token where it is asked for. */
export async function giveToken(page, token) {
  await page.locator("#token[open]").waitFor();
  await page.fill("#token-text", token);
  await page.keyboard.press("Enter");
}
