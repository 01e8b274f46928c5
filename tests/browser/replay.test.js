// An exported WACZ file in the library of ReplayWeb.page: pages look as on the web, and nothing is asked of it.

import assert from "node:assert/strict";
import { createReadStream } from "node:fs";
import { stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { browser } from "./browser.js";
import { exported } from "./crawl.js";

const WORKER = fileURLToPath(new URL("node_modules/@webrecorder/wabac/dist/sw.js", import.meta.url));
/** Folder for the last replayed page and its original, to be looked at. */
const PICTURES = process.env.RECRAWL_PICTURES;
/** Name of the collection in the replaying service worker. */
const COLLECTION = "archive";

/** Serves the service worker and the WACZ file, also parts of them, on loopback. */
async function reader(wacz) {
  const files = { "/sw.js": [WORKER, "text/javascript"], "/archive.wacz": [wacz, "application/wacz"] };
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    if (!files[pathname]) {
      response.writeHead(pathname === "/" ? 200 : 404, { "Content-Type": "text/html" }).end("<title>Reader</title>");
      return;
    }
    const [path, type] = files[pathname];
    const { size } = await stat(path);
    const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") ?? [];
    const start = Number(from ?? 0);
    const end = to ? Math.min(Number(to), size - 1) : size - 1;
    const headers = { "Content-Type": type, "Content-Length": end - start + 1, "Accept-Ranges": "bytes" };
    if (from !== undefined) headers["Content-Range"] = `bytes ${start}-${end}/${size}`;
    response.writeHead(from === undefined ? 200 : 206, headers);
    if (request.method === "HEAD") response.end();
    else createReadStream(path, { start, end }).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { origin: `http://127.0.0.1:${server.address().port}`, stop: () => server.close() };
}

/** Starts the service worker and gives it the file. Runs in the browser. */
async function load([name, file]) {
  await navigator.serviceWorker.register("/sw.js");
  await navigator.serviceWorker.ready;
  while (!navigator.serviceWorker.controller) await new Promise((resolve) => setTimeout(resolve, 50));
  const added = new Promise((resolve, reject) => {
    navigator.serviceWorker.addEventListener("message", ({ data }) => {
      if (data.msg_type === "collAdded") resolve();
      if (data.msg_type === "collProgress" && data.error) reject(new Error(data.error));
    });
  });
  const source = new URL(file, location.href).href;
  navigator.serviceWorker.controller.postMessage({ msg_type: "addColl", name, file: { sourceUrl: source } });
  await added;
}

/** Fills the page with a frame. Runs in the browser. */
function frame(url) {
  const element = document.createElement("iframe");
  element.style = "position: fixed; inset: 0; width: 100%; height: 100%; border: 0";
  element.src = url;
  document.body.replaceChildren(element);
}

describe("an exported WACZ file", () => {
  let [crawl, site, chromium] = [];
  before(async () => {
    crawl = await exported();
    site = await reader(crawl.wacz);
    chromium = await browser();
    const page = await chromium.context.newPage();
    await page.goto(site.origin);
    await page.evaluate(load, [COLLECTION, "/archive.wacz"]);
    await page.close();
  });
  after(async () => {
    await chromium?.close();
    site?.stop();
    await crawl?.stop();
  });

  /** What the browser shows of an address in a frame of the reader, which replayed pages need. */
  const shown = async (url) => {
    const page = await chromium.context.newPage();
    const asked = new Set();
    page.on("request", (request) => asked.add(new URL(request.url()).origin));
    await page.goto(site.origin);
    // The reader leads to the time of the capture.
    const place = url.split("mp_/").at(-1);
    const answered = page.waitForResponse((answer) => answer.url().endsWith(place) && answer.status() !== 302);
    await page.evaluate(frame, url);
    const status = (await answered).status();
    await page.waitForLoadState("networkidle");
    const found = { status, picture: await page.screenshot(), asked: [...asked] };
    await page.close();
    return found;
  };

  it("shows pages as they looked on the web, pixel by pixel, and asks nobody else", async () => {
    const pages = crawl.contents.filter(({ status, title }) => status === 200 && title);
    assert.ok(pages.length > 20, `${pages.length} pages`);
    // First, last, and some between them.
    const some = pages.filter((_, index) => index % Math.ceil(pages.length / 6) === 0).concat(pages.slice(-1));
    for (const { url, time } of some) {
      const stamp = new Date(time * 1000).toISOString().replace(/\D/g, "").slice(0, 14);
      const replayed = await shown(`${site.origin}/w/${COLLECTION}/${stamp}mp_/${url}`);
      assert.equal(replayed.status, 200, url);
      assert.deepEqual(replayed.asked, [site.origin], url);
      const original = await shown(url);
      if (PICTURES) {
        await writeFile(`${PICTURES}/replayed.png`, replayed.picture);
        await writeFile(`${PICTURES}/original.png`, original.picture);
      }
      assert.ok(original.picture.equals(replayed.picture), `${url} looks as on the web`);
    }
  });

  it("says so of a page that it does not hold", async () => {
    const missing = await shown(`${site.origin}/w/${COLLECTION}/20200101000000mp_/http://missing.test/`);
    assert.equal(missing.status, 404);
    assert.deepEqual(missing.asked, [site.origin]);
  });
});
