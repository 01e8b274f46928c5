// Chromium, and a page of the dashboard with checks for errors and foreign requests.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium";
// Root has no sandbox in a container, and the test controls all pages.
const WORDS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--no-first-run",
  "--disable-dev-shm-usage",
];
/** Milliseconds to wait for a figure, even on a busy machine. */
const PATIENCE = 60_000;

/** Serves the dashboard's files from this folder, with the program's headers, so that they can change without a build. */
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

/** Starts Chromium with an empty profile. */
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

/** The browser's message for a response with this status. */
const REFUSED = (status) => new RegExp(`^Failed to load resource: the server responded with a status of ${status} \\(`);

/** Opens a view and records errors and requested origins. `expected` lists errors that the test provokes: a status, which
*  must occur, or a pattern, which may occur. */
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
    assert.deepEqual([...awaited], [], "the provoked errors occurred");
    assert.deepEqual([...asked], [origin], "no other origin was requested");
    assert.equal(await page.evaluate(() => window.hostile), undefined, "no text of the crawl was run");
    await page.close();
  };
  return { page, done };
}

/** The text of a figure. */
export const figure = (page, key) => page.locator(`[data-figure="${key}"]`).first();

/** Waits until a figure has this text. */
export async function says(page, key, text, patience) {
  await retry(async () => assert.equal((await figure(page, key).textContent())?.trim(), text, key), patience);
}

/** How the dashboard writes a number and a share; a test of the dashboard checks its own formatting. */
export const count = (value) => (value === null || value === undefined ? "–" : value.toLocaleString("en"));
export const share = (value) => (value === null || value === undefined ? "–" : `${(100 * value).toFixed(1)}\u00a0%`);

/** Milliseconds to wait for the end of a cycle. */
export const CYCLES = 120_000;

/** Repeats a check until it passes. */
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

/** Types the token into the token dialog. */
export async function giveToken(page, token) {
  await page.locator("#token[open]").waitFor();
  await page.fill("#token-text", token);
  await page.keyboard.press("Enter");
}
