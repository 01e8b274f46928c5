// Pictures of pages on the web, and of their copies: in the console's view, in the library of ReplayWeb.page and in pywb.

import { spawn } from "node:child_process";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { browser, retry } from "./browser.js";
import { looked } from "./crawl.js";
import { reader, stamp } from "./reader.js";

/** The share of pixels that differ in letters where one page stands in a frame and the other does not. */
export const LETTERS = 1e-4;
const SIZE = { width: 1000, height: 600 };
/** Milliseconds in which a picture must not change, and pictures that are taken at most. */
const STILL = 400;
const MAX_PICTURES = 20;

/** The share of pixels that differ between two pictures in any of their colours. Runs in the browser. */
async function difference(pictures) {
  const [a, b] = await Promise.all(
    pictures.map(async (picture) => {
      const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${picture}`)).blob());
      const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
      context.drawImage(image, 0, 0);
      return new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer);
    }),
  );
  if (a.length !== b.length) return 1;
  return a.reduce((sum, pixel, at) => sum + (pixel !== b[at]), 0) / a.length;
}

/** pywb over an archive's WARC files and index. */
async function pywb(program, crawl) {
  const folder = await mkdtemp(join(tmpdir(), "recrawl-pywb-"));
  await crawl.recrawl("export", "cdxj", "--out", join(folder, "index.cdxj"));
  await cp(join(crawl.data, "warc"), join(folder, "archive"), { recursive: true });
  const collection = "  looks:\n    index_paths: ./index.cdxj\n    archive_paths: ./archive/\n";
  await writeFile(join(folder, "config.yaml"), `collections:\n${collection}`);
  const port = await freePort();
  const child = spawn(resolve(program), ["-b", "127.0.0.1", "-p", `${port}`], { cwd: folder, stdio: "ignore" });
  process.on("exit", () => child.kill());
  const origin = `http://127.0.0.1:${port}`;
  await retry(() => fetch(origin));
  const stop = async () => {
    child.kill();
    await rm(folder, { recursive: true, force: true });
  };
  return { at: (url, time) => `${origin}/looks/${stamp(time)}/${url}`, stop };
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Crawls the site of `looks-site.js`. `picture` takes a picture of a page in a view, `difference` compares two. With the
*  program `wayback` there is the view `pywb`, too. */
export async function looks(wayback) {
  const [crawl, chromium] = [await looked(), await browser()];
  const replay = await reader(crawl.wacz, chromium.context);
  const archive = wayback && (await pywb(wayback, crawl));
  const [page, blank] = [await chromium.context.newPage(), await chromium.context.newPage()];
  await page.setViewportSize(SIZE);
  // The line behind the copy says what it is.
  await page.route(/\/archived\?/, async (route) => {
    const answer = await route.fetch();
    const body = (await answer.text()).replace(/<hr>\n<p style="[^"]*">Archived copy[\s\S]*?<\/p>/, "");
    await route.fulfill({ response: answer, body });
  });
  /** The version that the console lists first. */
  const newest = async (url) => (await crawl.get(`/api/v1/versions?url=${encodeURIComponent(url)}`)).versions[0];
  const archived = async (url) => {
    const { warc_file: file, warc_offset: offset } = await newest(url);
    return `${crawl.origin}/archived?url=${encodeURIComponent(url)}&warc_file=${file}&warc_offset=${offset}`;
  };
  const views = {
    live: (url) => replay.framed(page, url),
    view: async (url) => page.goto(await archived(url)),
    replayweb: async (url) => replay.framed(page, replay.at(url, (await newest(url)).time)),
    pywb: async (url) => {
      await page.goto(archive.at(url, (await newest(url)).time));
      // Its own line at the top would cover the page.
      await page.locator("#replay_iframe").evaluate((frame) => {
        frame.style = "position: fixed; inset: 0; width: 100%; height: 100%; border: 0";
        for (const other of document.body.querySelectorAll("*")) {
          if (!other.contains(frame)) other.style.display = "none";
        }
      });
    },
  };
  const picture = async (path, view) => {
    await views[view](crawl.site + path);
    let [before, taken] = [null, await page.screenshot()];
    for (let more = 1; more < MAX_PICTURES && !before?.equals(taken); more += 1) {
      await page.waitForTimeout(STILL);
      [before, taken] = [taken, await page.screenshot()];
    }
    return taken;
  };
  const compared = (...pictures) => blank.evaluate(difference, pictures.map((taken) => taken.toString("base64")));
  /** A tab of the view of a page. */
  const opened = async (path, watch) => {
    const [url, tab] = [await archived(crawl.site + path), await chromium.context.newPage()];
    watch(tab);
    await tab.goto(url);
    return { tab, url };
  };
  const stop = async () => {
    await chromium.close();
    await archive?.stop();
    replay.stop();
    await crawl.stop();
  };
  return { views: Object.keys(views).filter((view) => view !== "pywb" || archive), picture, difference: compared, opened, asked: crawl.asked, stop };
}
